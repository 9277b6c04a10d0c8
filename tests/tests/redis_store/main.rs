//! The Redis store on real servers: the contract, and what a client must survive.

mod answers;
mod conformance;
mod connections;
mod outages;
mod records;
mod support;
