//! What is measured: handlers as their users would write them, and calls of them on the memory store.

mod handlers;
mod memory_calls;

pub use handlers::{
    FIRST_ORDER, NAMESPACE, PREFIX, Receipt, TTL, dispatch, dispatch_after_a_while, dispatch_for, dispatch_in_steps,
    dispatch_until, held_annotated, held_plain,
};
pub use memory_calls::MemoryCalls;
