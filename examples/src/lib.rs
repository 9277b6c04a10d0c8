//! What the examples share: the way to a broker and a store, what each disposition means to RabbitMQ, and records as
//! a person reads them.

pub mod backend;
pub mod broker;
pub mod duration;
pub mod signal;

mod records;

pub use records::describe;
