//! Every way in which a call can end, at every point of a call: one table, played on each store.

mod memory;
mod play;
mod redis;
mod table;
mod world;
