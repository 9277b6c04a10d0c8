//! What happened, as each process wrote it down: one file a process, one event a line, never changed afterwards.
//!
//! Each event is one write to the file, without a buffer of ours: what was written is there although its process was
//! killed. All processes of a machine read one monotonic clock, so that events of different files can be compared.

mod event;
mod read;
mod write;

pub(crate) use event::{Asked, Event, Held, Op, Reply, State};
pub(crate) use read::{Entry, Histories, NEMESIS, read};
pub(crate) use write::{Log, now};

/// Microseconds of the machine's monotonic clock.
pub(crate) type Moment = u64;
