//! The protocol as a model: one key, the store's record, the guards of a few calls, and a network that loses, repeats
//! and delays.
//!
//! | module | holds |
//! |---|---|
//! | [`record`], [`operation`] | what stands under the key; what a store is asked and answers |
//! | [`store_step`] | **the store's table**: to be read beside the trait `Store` |
//! | [`worker`], [`guard`], [`network`] | where one call stands; what its guard does; its messages |
//! | [`setting`] | the calls, their policies, and what may go wrong |
//! | [`state`], [`step`], [`protocol`] | the whole, what can happen next, and the checker |
//! | [`history`], [`properties`] | what has happened, and what is promised |
//! | [`liveness`] | that a key is settled in the end |
//! | [`rules`], [`variants`] | each rule, and the model without it |
//! | [`suite`] | the settings that are gone through |
//! | [`reach`], [`real`], [`drive`] | holding real stores against the table |
//!
//! # What is taken for granted
//!
//! - Store and workers measure time equally fast, up to the margin: when a lease lapses at the store, every deadline
//!   that was counted from a request applied before has passed.
//! - What one poll starts takes effect before the next step of anybody.
//! - No message is applied more than a lease after it was sent, nor after the ttl of what it completed. Where messages
//!   are about for ever (the settings named `…-ancient`) the promises that need this are left out, and the others hold.
//! - A worker that cannot reach the store does not poll past its deadline: `on_lost = cancel`, in the time in which the
//!   store cannot be asked, and `finish` give up what is proven here.
//! - The store keeps what it acknowledged, except where a setting (`…-emptied`) says otherwise.
//!
//! # What is not modelled
//!
//! The layout of a Hash, replicas, and the tiered store; `unreadable` records; the fence; `within`; administration;
//! `on_outage = run`. Rules about them that carry a dagger have no variant here.

pub mod drive;
pub mod guard;
pub mod history;
pub mod liveness;
pub mod network;
pub mod operation;
pub mod properties;
pub mod protocol;
pub mod reach;
pub mod real;
pub mod record;
pub mod rules;
pub mod setting;
pub mod state;
pub mod step;
pub mod store_step;
pub mod suite;
pub mod variants;
pub mod worker;
