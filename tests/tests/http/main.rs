//! The `Idempotency-Key` layer: every point of its description as a test of that number, and what happens on the wire.

mod applies;
mod client;
mod conformance;
mod identity;
mod life;
mod nested;
mod outcomes;
mod stored;
mod stores;
mod support;
mod syntax;
mod trying;
mod wire;
