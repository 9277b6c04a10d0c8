//! The SQL stores on a real PostgreSQL and on SQLite files: the contract, and what only they have.

mod backlog;
mod conformance;
mod outages;
mod points;
mod pooler;
mod processes;
#[path = "../../../idempotent-runtime/tests/reference/reference.rs"]
mod reference;
#[path = "../../../idempotent-runtime/tests/reference/sequence.rs"]
mod sequence;
mod sequences;
mod support;
mod table;
mod waking;
#[allow(dead_code, reason = "the tests on Redis also stop their workers")]
#[path = "../redis/worker.rs"]
mod worker;
