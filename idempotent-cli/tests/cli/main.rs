//! The built program, on every store that a process can reach.

mod changes;
mod dashboard;
mod listing;
mod plain;
mod support;
#[cfg(unix)]
mod terminal;
