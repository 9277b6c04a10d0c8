//! What the examples share.

mod records;

pub use records::describe;
