//! Two stores as one keep the contract, whatever becomes of the one in front.

#![cfg(all(feature = "conformance", feature = "testing"))]

mod answers;
mod conformance;
mod front;
#[path = "../reference/reference.rs"]
mod reference;
#[allow(dead_code, reason = "other stores run sequences that are drawn in another way")]
#[path = "../reference/sequence.rs"]
mod sequence;
mod sequences;
