//! The Redis store on real servers: the contract, and what a client must survive.

mod answers;
mod authority;
mod clocks;
mod cluster;
mod conformance;
mod connections;
mod crowd;
mod findings;
mod logged;
mod outages;
mod permissions;
mod records;
mod recovery;
#[path = "../../../idempotent-runtime/tests/reference/reference.rs"]
mod reference;
mod replicas;
mod sentinel;
#[path = "../../../idempotent-runtime/tests/reference/sequence.rs"]
mod sequence;
mod sequences;
mod steps;
mod support;
mod tls;
mod transports;
mod waking;
