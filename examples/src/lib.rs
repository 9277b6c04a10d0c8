//! What the examples share: the way to a broker and a store, what each disposition means to RabbitMQ, and records as
//! a person reads them; and, for what judges them, a fenced sink and a line to it.

pub mod backend;
pub mod broker;
pub mod duration;
pub mod fence;
pub mod line;
pub mod signal;

mod records;

pub use records::describe;
