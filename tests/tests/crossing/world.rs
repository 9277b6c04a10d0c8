//! A store, the worker whose call gets into trouble, and another worker that comes next.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idempotent_runtime::testing::{Fault, FaultyStore, Gate, Operation};
use idempotent_runtime::{Builder, CallBuilder, Error, Idempotency, OnCrash, Outcome, Replies, Store, with_outcome};
use serde::{Deserialize, Serialize};
use servers::{Proxy, Redis};

use crate::table::{Case, Happens, Policy};

/// How the store goes away, and how its answers are lost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble<'a> {
    /// By a wrapper around it.
    Wrapper,
    /// The server stands still.
    ServerStopped(&'a Redis),
    /// The server dies, and is started again with its data.
    ServerKilled(&'a Redis),
    /// The network is cut.
    Cut(&'a Proxy),
}

pub(crate) struct World<'a> {
    pub(crate) faults: FaultyStore,
    pub(crate) worker: Idempotency,
    other: Idempotency,
    trouble: Trouble<'a>,
    pub(crate) lease: Duration,
    key: String,
    runs: Arc<AtomicU32>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Failure {
    Burnt,
    Refused(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error.kind().as_str().to_owned())
    }
}

/// What the first body returns, and what the next one does.
pub(crate) const FIRST: u32 = 7;
pub(crate) const SECOND: u32 = 8;

pub(crate) type Ended = (Result<u32, Failure>, Outcome);

impl<'a> World<'a> {
    /// The worker goes to the store by `way`, the other one straight.
    pub(crate) fn new(
        settings: &dyn Fn() -> Builder,
        way: Arc<dyn Store>,
        straight: impl Store,
        trouble: Trouble<'a>,
        lease: Duration,
        key: String,
    ) -> Self {
        let faults = FaultyStore::around(way);
        let worker = settings().owner("worker").build(faults.clone()).expect("it can be built");
        let other = settings().owner("other").build(straight).expect("it can be built");
        Self { faults, worker, other, trouble, lease, key, runs: Arc::default() }
    }

    /// The next call is one of the worker's process too.
    pub(crate) fn alone(mut self) -> Self {
        self.other = self.worker.clone();
        self
    }

    fn call(&self, idempotency: &Idempotency, policy: Policy) -> CallBuilder {
        let call = idempotency.call("cross").key(self.key.as_str()).ttl(Duration::from_hours(1)).lease(self.lease);
        if policy == Policy::Hold { call.on_crash(OnCrash::Hold) } else { call }
    }

    /// The call that gets into trouble. Its body waits at the gate, if there is one.
    pub(crate) fn first(&self, case: Case, gate: Option<Gate>) -> impl Future<Output = Ended> + Send + use<> {
        let (runs, ending) = (Arc::clone(&self.runs), case.ending());
        let body = async move {
            runs.fetch_add(1, Ordering::SeqCst);
            if let Some(gate) = gate {
                gate.pass().await;
            }
            match ending {
                Happens::Error => Err(Failure::Burnt),
                Happens::Panic => panic!("the body panics, as it should"),
                _ => Ok(FIRST),
            }
        };
        with_outcome(self.call(&self.worker, case.policy).run_with(replies(case.policy), body))
    }

    /// The call that comes next.
    pub(crate) fn next(&self, policy: Policy) -> impl Future<Output = Ended> + Send + use<> {
        let runs = Arc::clone(&self.runs);
        let body = async move {
            runs.fetch_add(1, Ordering::SeqCst);
            Ok(SECOND)
        };
        with_outcome(self.call(&self.other, policy).run_with(replies(policy), body))
    }

    /// How many bodies have started.
    pub(crate) fn ran(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }

    /// The store goes away.
    pub(crate) fn go_down(&self) {
        match self.trouble {
            Trouble::Wrapper => self.faults.go_down(),
            Trouble::ServerStopped(server) => server.stop().expect("it stops"),
            Trouble::ServerKilled(server) => server.kill().expect("it dies"),
            Trouble::Cut(proxy) => {
                proxy.set(servers::Fault::Refuse).expect("the network is down");
                proxy.cut();
            }
        }
    }

    /// The store comes back.
    pub(crate) fn come_back(&self) {
        match self.trouble {
            Trouble::Wrapper => self.faults.heal(),
            Trouble::ServerStopped(server) => server.cont().expect("it goes on"),
            Trouble::ServerKilled(server) => server.restart().expect("it starts again"),
            Trouble::Cut(proxy) => proxy.set(servers::Fault::None).expect("the network is back"),
        }
    }

    /// The answer to the next call of `operation` is lost, which is the next that the worker makes.
    pub(crate) fn lose_answer(&self, operation: Operation) {
        match self.trouble {
            Trouble::Cut(proxy) => proxy.lose_answers_to(1, &self.key),
            _ => self.faults.next(operation, Fault::LosesAnswer),
        }
    }
}

fn replies(policy: Policy) -> Replies<u32, Failure> {
    if policy == Policy::Record { Replies::recorded().errors_recorded() } else { Replies::recorded() }
}
