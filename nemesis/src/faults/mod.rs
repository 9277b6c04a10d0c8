//! The harm that is done.
//!
//! - `bag`: which harm comes next
//! - `herd`: to the processes of consumers
//! - `network`: to connections and scripts
//! - `servers`: to servers, one trouble after the other, and what they held is written down around each

mod bag;
mod herd;
mod network;
mod servers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use self::herd::Herd;
pub(crate) use self::network::Network;
pub(crate) use self::servers::Servers;
use crate::history::{Event, Log};

/// How often each kind of harm was done.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    log: Arc<Log>,
    counts: Arc<Mutex<BTreeMap<&'static str, usize>>>,
}

impl Tally {
    pub(crate) fn new(log: Arc<Log>) -> Self {
        Self { log, counts: Arc::default() }
    }

    /// Harm is going to be done.
    pub(crate) fn count(&self, kind: &'static str, target: impl std::fmt::Display) {
        self.log.write(&Event::Fault { kind: kind.to_owned(), target: target.to_string() });
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(kind).or_default() += 1;
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, usize> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
