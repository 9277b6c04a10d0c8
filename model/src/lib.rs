//! The protocol as a model.

pub mod history;
pub mod liveness;
pub mod network;
pub mod operation;
pub mod properties;
pub mod protocol;
pub mod record;
pub mod rules;
pub mod setting;
pub mod state;
pub mod step;
pub mod store_step;
pub mod suite;
pub mod variants;
pub mod worker;
