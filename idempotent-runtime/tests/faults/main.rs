//! The store in trouble at each point of a call, and calls that go away there: the guard and its keeper on a faulty
//! store with a paused clock.
#![cfg(feature = "testing")]

mod claiming;
mod running;
mod settling;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idempotent_runtime::store::{ClaimAnswer, ClaimRequest, OnLapse, Retention};
use idempotent_runtime::testing::{Fault, FaultyStore, Gate, Operation};
use idempotent_runtime::{
    CallBuilder, Disposition, Error, ErrorKind, Idempotency, Key, MemoryStore, OnBusy, OnCrash, OnLost, OnOutage,
    Outcome, OutcomeKind, Store, Token, with_outcome,
};
use tokio::task::JoinHandle;
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_hours(1);

/// A worker on a store that obeys the test, and another worker on the healthy store behind it.
struct Shop {
    faults: FaultyStore,
    memory: MemoryStore,
    worker: Idempotency,
    other: Idempotency,
    runs: Arc<AtomicU32>,
}

impl Shop {
    fn new() -> Self {
        let memory = MemoryStore::new();
        let faults = FaultyStore::new(memory.clone());
        let worker = Idempotency::builder().owner("worker").build(faults.clone()).unwrap();
        let other = Idempotency::builder().owner("other").build(memory.clone()).unwrap();
        Self { faults, memory, worker, other, runs: Arc::default() }
    }

    fn call(&self) -> CallBuilder {
        Self::on(&self.worker)
    }

    fn on(idempotency: &Idempotency) -> CallBuilder {
        idempotency.call("order").key(1001).ttl(HOUR).lease(LEASE)
    }

    /// A body that counts itself.
    fn body(&self) -> impl Future<Output = Result<u32, Error>> + Send + use<> {
        let runs = Arc::clone(&self.runs);
        async move { Ok(runs.fetch_add(1, Ordering::SeqCst) + 1) }
    }

    /// A body that counts itself once the gate lets it through.
    fn gated(&self, gate: &Gate) -> impl Future<Output = Result<u32, Error>> + Send + use<> {
        let (body, gate) = (self.body(), gate.clone());
        async move {
            gate.pass().await;
            body.await
        }
    }

    fn ran(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }

    /// What a duplicate comes to, seen from the healthy worker.
    async fn duplicate(&self) -> (Result<u32, ErrorKind>, Outcome) {
        let (result, outcome) = with_outcome(Self::on(&self.other).run(self.body())).await;
        (result.map_err(|error| error.kind()), outcome)
    }

    /// Takes the lapsed claim over, and is never heard of again.
    async fn take_over(&self) {
        let request = ClaimRequest {
            token: Token::random(),
            owner: "thief",
            fingerprint: None,
            lease: HOUR,
            retention: Retention::For(HOUR),
            held: Retention::For(HOUR),
            on_lapse: OnLapse::TakeOver,
            max_attempts: None,
            supersede: None,
            begun: true,
            fenced: false,
        };
        let answer = self.memory.claim(&Key::from_text("order:1001"), &request).await.unwrap();
        assert!(matches!(answer, ClaimAnswer::Acquired(_)), "{answer:?}");
    }
}

fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(future)
}

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    match result {
        Ok(_) => panic!("must be refused"),
        Err(error) => error.kind(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_error_path_never_runs_the_handler() {
    for operation in Operation::ALL {
        for fault in [Fault::Fails, Fault::Refuses, Fault::NeverAnswers, Fault::LosesAnswer] {
            let shop = Shop::new();
            shop.faults.always(operation, fault.clone());
            for _ in 0..3 {
                let _ = shop.call().max_attempts(9).run(shop.body()).await;
            }
            assert!(shop.ran() <= 1, "{operation:?} {fault:?}: {} runs", shop.ran());
        }
    }
}
