//! Two stores as one keep the contract, whatever becomes of the one in front.

#![cfg(feature = "conformance")]

mod answers;
mod conformance;
mod front;
#[path = "../reference/reference.rs"]
mod reference;
#[path = "../reference/sequence.rs"]
mod sequence;
mod sequences;
