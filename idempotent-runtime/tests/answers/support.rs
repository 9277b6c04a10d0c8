//! A store that counts and fails, and calls on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idempotent_runtime::testing::{FaultyStore, Operation};
use idempotent_runtime::{
    Builder, CallBuilder, Error, ErrorKind, Idempotency, MemoryStore, OnBusy, Outcome, OutcomeKind, with_outcome,
};
use serde::{Deserialize, Serialize};

pub(crate) const TTL: Duration = Duration::from_mins(1);
pub(crate) const LEASE: Duration = Duration::from_secs(30);
pub(crate) const PATIENCE: OnBusy = OnBusy::Wait(Duration::from_secs(20));

/// A process on a store that others may share.
pub(crate) struct Process {
    pub(crate) store: FaultyStore,
    pub(crate) idempotency: Idempotency,
    /// How many bodies have started.
    pub(crate) runs: Arc<AtomicU32>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Failure {
    Burnt,
    Refused(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error.to_string())
    }
}

pub(crate) type Ended = (Result<u32, Failure>, Outcome);

impl Process {
    pub(crate) fn new(settings: Builder, memory: &MemoryStore) -> Self {
        let store = FaultyStore::new(memory.clone());
        let idempotency = settings.build(store.clone()).expect("good settings");
        Self { store, idempotency, runs: Arc::default() }
    }

    pub(crate) fn call(&self, key: u32) -> CallBuilder {
        self.idempotency.call("order").key(key).ttl(TTL).lease(LEASE)
    }

    /// A body that gives a value at once.
    pub(crate) fn value(&self, value: u32) -> impl Future<Output = Result<u32, Failure>> + Send + use<> {
        let runs = Arc::clone(&self.runs);
        async move {
            runs.fetch_add(1, Ordering::SeqCst);
            Ok(value)
        }
    }

    /// A whole call.
    pub(crate) fn run(&self, key: u32, value: u32) -> impl Future<Output = Ended> + Send + use<> {
        with_outcome(self.call(key).run(self.value(value)))
    }

    pub(crate) fn claims(&self) -> usize {
        self.store.calls(Operation::Claim)
    }

    pub(crate) fn ran(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }
}

pub(crate) fn executed(ended: &Ended) -> bool {
    ended.1.kind() == OutcomeKind::Executed
}

#[track_caller]
pub(crate) fn is_replay(ended: &Ended, value: u32) {
    assert_eq!(ended.0, Ok(value));
    assert_eq!(ended.1.kind(), OutcomeKind::Replayed);
}

#[track_caller]
pub(crate) fn is_refused(ended: &Ended, kind: ErrorKind) {
    assert_eq!(ended.1.kind(), OutcomeKind::Refused(kind), "{ended:?}");
}
