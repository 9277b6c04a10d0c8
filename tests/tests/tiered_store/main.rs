//! Redis in front of PostgreSQL and of SQLite, on real servers: the contract, while the front is killed, emptied and
//! failed over; and that no key runs twice.

mod conformance;
mod crowd;
mod harmed;
#[path = "../../../idempotent-runtime/tests/reference/reference.rs"]
mod reference;
#[path = "../../../idempotent-runtime/tests/reference/sequence.rs"]
mod sequence;
mod sequences;
mod support;
