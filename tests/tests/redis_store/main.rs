//! The Redis store on real servers: the contract, and what a client must survive.

mod answers;
mod cluster;
mod conformance;
mod connections;
mod crowd;
mod findings;
mod outages;
mod records;
mod recovery;
#[path = "../../../idempotent-runtime/tests/reference/reference.rs"]
mod reference;
mod sentinel;
#[path = "../../../idempotent-runtime/tests/reference/sequence.rs"]
mod sequence;
mod sequences;
mod support;
mod transports;
