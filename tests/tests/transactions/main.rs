//! `within`: a call in its caller's transaction, on a real PostgreSQL and on SQLite files. The numbered points of what the
//! transactional mode promises each have a test that is named after it.

mod both;
mod error;
mod lite;
mod pg;
mod points;
mod sqlite;
