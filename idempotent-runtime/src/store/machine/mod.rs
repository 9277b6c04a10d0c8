//! The state machine of one record, without clocks, locks or servers: what stores that decide in Rust share.

pub(in crate::store) mod decisions;
pub(in crate::store) mod state;
pub(in crate::store) mod steps;
