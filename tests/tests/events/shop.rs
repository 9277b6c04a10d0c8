//! A store, a worker whose messages can be lost, and another worker straight at the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use idempotent_runtime::store::{ClaimAnswer, ClaimRequest, OnLapse, RedisStore, Retention};
use idempotent_runtime::testing::{FaultyStore, Gate};
use idempotent_runtime::{CallBuilder, Error, Idempotency, Key, MemoryStore, Store, Token};
use serde::{Deserialize, Serialize};
use servers::{Redis, RedisBinary};

pub(crate) const HOUR: Duration = Duration::from_hours(1);

pub(crate) struct Shop {
    pub(crate) faults: FaultyStore,
    pub(crate) worker: Idempotency,
    pub(crate) other: Idempotency,
    /// Short on a server, which really waits.
    pub(crate) lease: Duration,
    straight: Arc<dyn Store>,
    server: Option<Redis>,
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

pub(crate) type Reply = Result<u32, Failure>;

/// As a call that was refused ends.
pub(crate) fn refused(kind: idempotent_runtime::ErrorKind) -> Reply {
    Err(Failure::Refused(kind.as_str().to_owned()))
}

/// With a paused clock.
pub(crate) fn on_memory(row: impl AsyncFnOnce(Shop)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime starts").block_on(async {
        row(Shop::new(MemoryStore::new(), Duration::from_secs(30), None)).await;
    });
}

/// On a server of its own.
pub(crate) fn on_redis(row: impl AsyncFnOnce(Shop)) {
    let Some(server) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(async {
        let store = RedisStore::connect(&server.url()).await.expect("the server was started for this");
        row(Shop::new(store, Duration::from_millis(600), Some(server))).await;
    });
}

impl Shop {
    fn new(store: impl Store + Clone, lease: Duration, server: Option<Redis>) -> Self {
        let faults = FaultyStore::new(store.clone());
        let builder = || Idempotency::builder().store_timeout(lease).settle_timeout(lease);
        let worker = builder().owner("worker").build(faults.clone()).expect("it can be built");
        let other = builder().owner("other").build(store.clone()).expect("it can be built");
        Self { faults, worker, other, lease, straight: Arc::new(store), server, runs: Arc::default() }
    }

    pub(crate) fn call(&self) -> CallBuilder {
        self.on(&self.worker)
    }

    pub(crate) fn on(&self, idempotency: &Idempotency) -> CallBuilder {
        idempotency.call("order").key(1001).ttl(HOUR).lease(self.lease)
    }

    /// A body that counts itself.
    pub(crate) fn body(&self) -> impl Future<Output = Reply> + Send + use<> {
        let runs = Arc::clone(&self.runs);
        async move { Ok(runs.fetch_add(1, Ordering::SeqCst) + 1) }
    }

    /// A body that counts itself once the gate lets it through.
    pub(crate) fn gated(&self, gate: &Gate) -> impl Future<Output = Reply> + Send + use<> {
        let (body, gate) = (self.body(), gate.clone());
        async move {
            gate.pass().await;
            body.await
        }
    }

    pub(crate) fn ran(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }

    /// What a duplicate comes to, at the other worker.
    pub(crate) async fn duplicate(&self) -> Reply {
        self.on(&self.other).run(self.body()).await
    }

    /// Claims the key, and is never heard of again: a process that died.
    pub(crate) async fn claim_and_die(&self, lease: Duration) {
        let request = ClaimRequest {
            token: Token::random(),
            owner: "gone",
            fingerprint: None,
            lease,
            retention: Retention::For(HOUR),
            held: Retention::For(HOUR),
            on_lapse: OnLapse::TakeOver,
            max_attempts: None,
            supersede: None,
            begun: true,
            fenced: false,
        };
        let answer = self.straight.claim(&Key::from_text("order:1001"), &request).await.expect("the store answers");
        assert!(matches!(answer, ClaimAnswer::Acquired(_)), "{answer:?}");
    }

    /// Overwrites the record with something that is none, where the store can hold that.
    pub(crate) fn spoil(&self) -> bool {
        let Some(server) = &self.server else { return false };
        server.cli(&["SET", "order:1001", "somebody else's"]).expect("the server answers");
        true
    }

    /// Lets time pass.
    pub(crate) async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Polls until `done`, for ten seconds at the most; by a paused clock for as long as it takes.
    pub(crate) async fn until(&self, what: &str, mut done: impl AsyncFnMut() -> bool) {
        let started = Instant::now();
        while !done().await {
            assert!(started.elapsed() < Duration::from_secs(10), "{what}: not within ten seconds");
            tokio::time::sleep(self.lease / 50).await;
        }
    }
}
