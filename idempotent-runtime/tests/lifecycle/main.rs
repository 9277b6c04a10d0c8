//! What happens between the claim and the record when things go wrong: the options that decide it, on the memory store
//! with a paused clock.

mod existing;
mod hold;
mod max_attempts;
mod on_busy;
mod on_error;
mod timeout;
mod verify;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idempotent_runtime::admin::{Decision, State};
use idempotent_runtime::{
    CallBuilder, Disposition, Error, ErrorKind, Idempotency, OnBusy, OnCrash, OnError, OutcomeKind, Replies, current,
    with_outcome,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const BY: Decision<'static> = Decision { who: "night shift", why: "the kitchen says it was never made" };

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Failure {
    Declined,
    Network,
    Refused(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error.kind().as_str().to_owned())
    }
}

fn refused(kind: ErrorKind) -> Result<u32, Failure> {
    Err(Failure::Refused(kind.as_str().to_owned()))
}

#[derive(Default)]
struct Runs(AtomicU32);

impl Runs {
    async fn one(&self) -> Result<u32, Failure> {
        Ok(self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }

    fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

fn pay(idempotency: &Idempotency) -> CallBuilder {
    idempotency.call("pay").key(1001).ttl(HOUR).lease(30 * SECOND)
}

/// A call that holds its key until it is told to go on.
struct Running {
    task: JoinHandle<Result<u32, Failure>>,
    go: Arc<Notify>,
}

impl Running {
    async fn start(call: CallBuilder) -> Self {
        let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let task = tokio::spawn({
            let (started, go) = (Arc::clone(&started), Arc::clone(&go));
            call.run(async move {
                started.notify_one();
                go.notified().await;
                Ok(7)
            })
        });
        started.notified().await;
        Self { task, go }
    }

    async fn abort(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_can_be_kept_for_ever() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let call = || idempotency.call("pay").key(1001).forever();
    call().run(runs.one()).await.unwrap();
    tokio::time::advance(100_000 * HOUR).await;
    assert_eq!(call().run(runs.one()).await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn fences_grow() {
    let idempotency = Idempotency::memory();
    let mut last = 0;
    for _ in 0..5 {
        let call = pay(&idempotency).fenced();
        let failed = call.run(async { Err::<(), _>(FencedFailure(current().unwrap().fence().unwrap())) }).await;
        let Err(FencedFailure(fence)) = failed else { panic!("it fails") };
        assert!(fence > last);
        last = fence;
    }
}

struct FencedFailure(u64);

impl From<Error> for FencedFailure {
    fn from(error: Error) -> Self {
        panic!("no call is refused here: {error}")
    }
}
