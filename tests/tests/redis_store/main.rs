//! The Redis store on real servers: the contract, and what a client must survive.

mod answers;
mod conformance;
mod connections;
mod outages;
mod records;
#[path = "../../../idempotent-runtime/tests/reference/reference.rs"]
mod reference;
#[path = "../../../idempotent-runtime/tests/reference/sequence.rs"]
mod sequence;
mod sequences;
mod steps;
mod support;
