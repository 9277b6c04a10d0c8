//! What happens between the claim and the record when things go wrong: the options that decide it, on the memory store
//! with a paused clock.

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

mod hold {
    use super::*;

    fn held(idempotency: &Idempotency) -> CallBuilder {
        pay(idempotency).on_crash(OnCrash::Hold)
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_run_is_indeterminate_and_does_not_expire() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        Running::start(held(&idempotency)).await.abort().await;
        for _ in 0..3 {
            let (result, outcome) = with_outcome(held(&idempotency).run(runs.one())).await;
            assert_eq!(result, refused(ErrorKind::Indeterminate));
            assert_eq!(outcome.disposition(), Disposition::DeadLetter);
            tokio::time::advance(1000 * HOUR).await;
        }
        assert_eq!(runs.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_indeterminate() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let call = held(&idempotency).run(async { if true { panic!("half way") } else { runs_never().await } });
        assert!(tokio::spawn(call).await.unwrap_err().is_panic());
        assert_eq!(held(&idempotency).run(runs.one()).await, refused(ErrorKind::Indeterminate));
    }

    async fn runs_never() -> Result<u32, Failure> {
        unreachable!()
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_is_released_like_any_other() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        assert_eq!(held(&idempotency).run(async { Err(Failure::Network) }).await, Err::<u32, _>(Failure::Network));
        assert_eq!(held(&idempotency).run(runs.one()).await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn existing_settles_an_abandoned_record() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        Running::start(held(&idempotency)).await.abort().await;
        let asked = held(&idempotency).existing(async { Ok(Some(7)) }).run(runs.one()).await;
        assert_eq!(asked, Ok(7), "the effect is there: recorded and returned");
        assert_eq!(held(&idempotency).run(runs.one()).await, Ok(7), "and replayed");
        assert_eq!(runs.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn existing_that_finds_nothing_lets_an_abandoned_record_run() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        Running::start(held(&idempotency)).await.abort().await;
        assert_eq!(held(&idempotency).existing(async { Ok(None) }).run(runs.one()).await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn existing_that_fails_leaves_an_abandoned_record_abandoned() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        Running::start(held(&idempotency)).await.abort().await;
        let asked = held(&idempotency).existing(async { Err(Failure::Network) }).run(runs.one()).await;
        assert_eq!(asked, Err(Failure::Network));
        assert_eq!(held(&idempotency).run(runs.one()).await, refused(ErrorKind::Indeterminate));
        assert_eq!(runs.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_person_resolves_or_releases_what_was_looked_at() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let key = idempotency.key("pay", &[&1001]).unwrap();
        Running::start(held(&idempotency)).await.abort().await;
        let seen = idempotency.inspect(&key).await.unwrap().expect("a record");
        assert!(matches!(seen.state, State::InProgress { begun: true, given_up: true, .. }));
        assert!(!seen.is_live());

        idempotency.resolve(&key, &seen, &12, HOUR, BY).await.unwrap();
        assert_eq!(held(&idempotency).run(runs.one()).await, Ok(12));
        let again = idempotency.release(&key, &seen, BY).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::Mismatch, "it is no longer as it was seen");

        let seen = idempotency.inspect(&key).await.unwrap().expect("a record");
        idempotency.release(&key, &seen, BY).await.unwrap();
        assert_eq!(held(&idempotency).run(runs.one()).await, Ok(1), "a deliberate second run");
    }

    #[tokio::test(start_paused = true)]
    async fn a_person_cannot_take_a_live_run_away() {
        let idempotency = Idempotency::memory();
        let key = idempotency.key("pay", &[&1001]).unwrap();
        let running = Running::start(held(&idempotency)).await;
        let seen = idempotency.inspect(&key).await.unwrap().expect("a record");
        assert_eq!(idempotency.release(&key, &seen, BY).await.unwrap_err().kind(), ErrorKind::Busy);
        running.go.notify_one();
        assert_eq!(running.task.await.unwrap(), Ok(7));
    }
}

mod max_attempts {
    use super::*;

    fn thrice(idempotency: &Idempotency) -> CallBuilder {
        pay(idempotency).max_attempts(3)
    }

    #[tokio::test(start_paused = true)]
    async fn three_runs_start_and_the_fourth_is_exhausted_however_they_end() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let failed = thrice(&idempotency).run(async { Err::<u32, _>(Failure::Network) }).await;
        assert_eq!(failed, Err(Failure::Network));
        let panicked = thrice(&idempotency).run(async {
            assert!(std::hint::black_box(false), "panics");
            Ok::<u32, Failure>(1)
        });
        assert!(tokio::spawn(panicked).await.unwrap_err().is_panic());
        Running::start(thrice(&idempotency)).await.abort().await;

        let (result, outcome) = with_outcome(thrice(&idempotency).run(runs.one())).await;
        assert_eq!(result, refused(ErrorKind::Exhausted));
        assert_eq!(outcome.disposition(), Disposition::DeadLetter);
        assert_eq!(runs.count(), 0);

        let key = idempotency.key("pay", &[&1001]).unwrap();
        let seen = idempotency.inspect(&key).await.unwrap().expect("a record");
        assert_eq!(seen.attempt, 3);
        idempotency.allow_one_more(&key, &seen, BY).await.unwrap();
        assert_eq!(thrice(&idempotency).run(runs.one()).await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_dropped_before_its_body_was_polled_is_no_run() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        for _ in 0..5 {
            // `existing` never answers, so the body is never polled.
            let asking = thrice(&idempotency).existing(std::future::pending()).run(runs.one());
            assert!(tokio::time::timeout(SECOND, asking).await.is_err());
        }
        let (result, outcome) = with_outcome(thrice(&idempotency).run(runs.one())).await;
        assert_eq!((result, outcome.attempt()), (Ok(1), Some(1)));
    }

    #[tokio::test]
    async fn no_attempt_at_all_is_a_mistake() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        assert_eq!(pay(&idempotency).max_attempts(0).run(runs.one()).await, refused(ErrorKind::Configuration));
    }
}

mod on_error {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_recorded_error_is_the_result() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let replies = || Replies::recorded().errors_recorded();
        let (first, outcome) =
            with_outcome(pay(&idempotency).run_with(replies(), async { Err(Failure::Declined) })).await;
        assert_eq!(first, Err::<u32, _>(Failure::Declined));
        assert_eq!((outcome.kind(), outcome.disposition()), (OutcomeKind::FailedForGood, Disposition::DeadLetter));
        let (duplicate, outcome) = with_outcome(pay(&idempotency).run_with(replies(), runs.one())).await;
        assert_eq!(duplicate, Err(Failure::Declined));
        assert_eq!((outcome.kind(), runs.count()), (OutcomeKind::FailedForGood, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_function_tells_final_failures_from_passing_ones() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let replies = || {
            Replies::recorded().errors_judged(|reply| match reply {
                Err(Failure::Declined) => OnError::Reject("the card was declined".into()),
                _ => OnError::Release,
            })
        };
        let call = || pay(&idempotency);
        assert_eq!(call().run_with(replies(), async { Err::<u32, _>(Failure::Network) }).await, Err(Failure::Network));
        let declined = call().run_with(replies(), async { Err::<u32, _>(Failure::Declined) }).await;
        assert_eq!(declined, Err(Failure::Declined), "after a network failure it ran again");
        assert_eq!(call().run_with(replies(), runs.one()).await, refused(ErrorKind::Failed));
        assert_eq!(runs.count(), 0);
    }
}

mod on_busy {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_waiter_replays_as_soon_as_the_run_has_ended() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let running = Running::start(pay(&idempotency)).await;
        let waiting = tokio::spawn(pay(&idempotency).on_busy(OnBusy::Wait(MINUTE)).run(async { Ok::<_, Failure>(0) }));
        let started = tokio::time::Instant::now();
        tokio::time::sleep(10 * SECOND).await;
        running.go.notify_one();
        assert_eq!(waiting.await.unwrap(), Ok(7));
        assert_eq!(started.elapsed(), 10 * SECOND, "woken at once");
        assert_eq!(runs.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_runs_when_the_first_run_fails() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let running = Running::start(pay(&idempotency)).await;
        let waiting = async {
            let (result, outcome) = with_outcome(pay(&idempotency).on_busy(OnBusy::Wait(MINUTE)).run(runs.one())).await;
            (result, outcome.attempt())
        };
        let (result, ()) = tokio::join!(waiting, running.abort());
        assert_eq!(result, (Ok(1), Some(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_whose_patience_ends_is_busy_and_changes_nothing() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let running = Running::start(pay(&idempotency)).await;
        let started = tokio::time::Instant::now();
        let waited = pay(&idempotency).on_busy(OnBusy::Wait(5 * SECOND)).run(runs.one()).await;
        assert_eq!(waited, refused(ErrorKind::Busy));
        assert_eq!(started.elapsed(), 5 * SECOND);
        running.go.notify_one();
        assert_eq!(running.task.await.unwrap(), Ok(7));
        assert_eq!(pay(&idempotency).run(runs.one()).await, Ok(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_waiters_get_one_value() {
        let idempotency = Idempotency::memory();
        let running = Running::start(pay(&idempotency)).await;
        let waiters: Vec<_> = (0..1000)
            .map(|_| tokio::spawn(pay(&idempotency).on_busy(OnBusy::Wait(MINUTE)).run(async { Ok::<u32, Failure>(0) })))
            .collect();
        tokio::task::yield_now().await;
        running.go.notify_one();
        for waiter in waiters {
            assert_eq!(waiter.await.unwrap(), Ok(7));
        }
    }
}

mod timeout {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_run_that_takes_too_long_is_ended_and_released() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let hangs = pay(&idempotency).timeout(MINUTE).run(std::future::pending::<Result<u32, Failure>>());
        let (result, outcome) = with_outcome(hangs).await;
        assert_eq!(result, refused(ErrorKind::TimedOut));
        assert!(matches!(outcome.disposition(), Disposition::RetryAfter(_)));
        let (result, outcome) = with_outcome(pay(&idempotency).timeout(MINUTE).run(runs.one())).await;
        assert_eq!((result, outcome.attempt()), (Ok(1), Some(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn under_hold_it_is_indeterminate() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let held = || pay(&idempotency).on_crash(OnCrash::Hold).timeout(MINUTE);
        let hangs = held().run(std::future::pending::<Result<u32, Failure>>());
        assert_eq!(hangs.await, refused(ErrorKind::TimedOut));
        assert_eq!(held().run(runs.one()).await, refused(ErrorKind::Indeterminate));
    }

    #[tokio::test(start_paused = true)]
    async fn the_body_is_dropped_before_its_claim() {
        struct Claimed(Idempotency);
        impl Drop for Claimed {
            fn drop(&mut self) {
                let key = self.0.key("pay", &[&1001]).unwrap();
                let mut inspect = self.0.store().admin().unwrap().inspect(&key);
                let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
                let std::task::Poll::Ready(Ok(Some(record))) = inspect.as_mut().poll(&mut cx) else {
                    panic!("memory answers at once")
                };
                assert!(record.is_live());
            }
        }
        let idempotency = Idempotency::memory();
        let claimed = Claimed(idempotency.clone());
        let hangs = pay(&idempotency).timeout(MINUTE).run(async move {
            let _claimed = claimed;
            std::future::pending::<Result<u32, Failure>>().await
        });
        assert_eq!(hangs.await, refused(ErrorKind::TimedOut));
    }
}

mod verify {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_record_that_stands_is_replayed() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        pay(&idempotency).run(runs.one()).await.unwrap();
        let (result, outcome) = with_outcome(pay(&idempotency).verify(async { Ok(true) }).run(runs.one())).await;
        assert_eq!((result, outcome.kind()), (Ok(1), OutcomeKind::Replayed));
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_without_an_effect_is_replaced_and_runs() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        pay(&idempotency).run(runs.one()).await.unwrap();
        let (result, outcome) = with_outcome(pay(&idempotency).verify(async { Ok(false) }).run(runs.one())).await;
        assert_eq!((result, outcome.kind(), outcome.attempt()), (Ok(2), OutcomeKind::Executed, Some(2)));
        assert_eq!(pay(&idempotency).run(runs.one()).await, Ok(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_fails_changes_nothing() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        pay(&idempotency).run(runs.one()).await.unwrap();
        let (result, outcome) =
            with_outcome(pay(&idempotency).verify(async { Err(Failure::Network) }).run(runs.one())).await;
        assert_eq!(result, Err(Failure::Network));
        assert!(matches!(outcome.disposition(), Disposition::RetryAfter(_)));
        assert_eq!(pay(&idempotency).run(runs.one()).await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_not_asked_on_a_first_call() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let call = pay(&idempotency).verify(async { unreachable!() as Result<bool, Failure> });
        assert_eq!(call.run(runs.one()).await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_recorded_failure_has_no_effect_to_ask_about() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let replies = || Replies::recorded().errors_recorded();
        let first = pay(&idempotency).run_with(replies(), async { Err::<u32, _>(Failure::Declined) }).await;
        assert_eq!(first, Err(Failure::Declined));
        let call = pay(&idempotency).verify(async { unreachable!() as Result<bool, Failure> });
        assert_eq!(call.run_with(replies(), runs.one()).await, Err(Failure::Declined));
        assert_eq!(runs.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_replacement_that_fails_in_existing_restores_the_record() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        pay(&idempotency).run(runs.one()).await.unwrap();
        let call = pay(&idempotency).verify(async { Ok(false) }).existing(async { Err(Failure::Network) });
        assert_eq!(call.run(runs.one()).await, Err(Failure::Network));
        assert_eq!(pay(&idempotency).run(runs.one()).await, Ok(1), "as it was found");
    }

    #[tokio::test(start_paused = true)]
    async fn of_ten_that_refute_one_record_one_runs() {
        let (idempotency, runs) = (Idempotency::memory(), Arc::new(Runs::default()));
        pay(&idempotency).run(runs.one()).await.unwrap();
        let calls: Vec<_> = (0..10)
            .map(|_| {
                let (call, runs) = (pay(&idempotency).on_busy(OnBusy::Wait(MINUTE)), Arc::clone(&runs));
                let (asked, runs) = (Arc::clone(&runs), runs);
                tokio::spawn(call.verify(async move { Ok(asked.count() == 2) }).run(async move {
                    tokio::time::sleep(SECOND).await;
                    runs.one().await
                }))
            })
            .collect();
        for call in calls {
            assert_eq!(call.await.unwrap(), Ok(2));
        }
        assert_eq!(runs.count(), 2);
    }
}

mod existing {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_effect_that_is_there_is_recorded_and_returned() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let (result, outcome) = with_outcome(pay(&idempotency).existing(async { Ok(Some(7)) }).run(runs.one())).await;
        assert_eq!((result, outcome.kind()), (Ok(7), OutcomeKind::Existing));
        assert_eq!(pay(&idempotency).run(runs.one()).await, Ok(7));
        assert_eq!(runs.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn it_runs_under_the_claim() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let asks = async {
            assert_eq!(current().expect("a claim").attempt(), 1);
            Ok(None)
        };
        assert_eq!(pay(&idempotency).existing(asks).run(runs.one()).await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_leaves_an_absent_record_claimable() {
        let (idempotency, runs) = (Idempotency::memory(), Runs::default());
        let call = pay(&idempotency).existing(async { Err(Failure::Network) });
        assert_eq!(call.run(runs.one()).await, Err(Failure::Network));
        let (result, outcome) = with_outcome(pay(&idempotency).run(runs.one())).await;
        assert_eq!((result, outcome.attempt()), (Ok(1), Some(1)), "no run has started before");
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
