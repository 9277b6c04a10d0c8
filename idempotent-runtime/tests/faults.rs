//! The store in trouble at each point of a call, and calls that go away there: the guard and its keeper on a faulty
//! store with a paused clock.
#![cfg(feature = "testing")]

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

mod claiming {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_down_refuses_in_time_and_nothing_runs() {
        for fault in [Fault::Fails, Fault::NeverAnswers] {
            let shop = Shop::new();
            shop.faults.always(Operation::Claim, fault);
            let started = Instant::now();
            let (result, outcome) = with_outcome(shop.call().run(shop.body())).await;
            assert_eq!(kind(result), ErrorKind::StoreUnavailable);
            assert!(started.elapsed() <= 2 * SECOND, "{:?}", started.elapsed());
            assert!(matches!(outcome.disposition(), Disposition::RetryAfter(_)));
            assert_eq!(shop.ran(), 0);
            shop.faults.heal();
            assert_eq!(shop.call().run(shop.body()).await.unwrap(), 1, "after recovery it runs");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_cause_is_readable_and_a_refusal_is_not_repeated() {
        let shop = Shop::new();
        shop.faults.always(Operation::Claim, Fault::Refuses);
        let error = shop.call().run(shop.body()).await.unwrap_err();
        assert!(error.to_string().contains("a fault of the test: refused"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
        assert_eq!(shop.faults.calls(Operation::Claim), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn under_run_the_handler_runs_unguarded_and_every_time() {
        let shop = Shop::new();
        shop.faults.go_down();
        for n in 1..=2 {
            let (result, outcome) = with_outcome(shop.call().on_outage(OnOutage::Run).run(shop.body())).await;
            assert_eq!((result.unwrap(), outcome.kind()), (n, OutcomeKind::Unguarded { ok: true }));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_answer_is_asked_for_again_and_runs_once() {
        let shop = Shop::new();
        shop.faults.next(Operation::Claim, Fault::LosesAnswer);
        let (result, outcome) = with_outcome(shop.call().run(shop.body())).await;
        assert_eq!((result.unwrap(), outcome.attempt()), (1, Some(1)), "its own claim is recognised");
        assert_eq!(shop.faults.calls(Operation::Claim), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_arrives_late_does_not_come_alive() {
        let shop = Shop::new();
        shop.faults.next(Operation::Claim, Fault::ArrivesLate);
        shop.faults.always(Operation::Claim, Fault::NeverAnswers);
        assert_eq!(kind(shop.call().run(shop.body()).await), ErrorKind::StoreUnavailable);
        shop.faults.quiet().await;
        shop.faults.heal();
        let answers = shop.faults.deliver_late().await.unwrap();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!(shop.duplicate().await.0, Ok(1), "the key is free");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_dropped_while_it_claims_holds_nothing() {
        for fault in [Fault::LosesAnswer, Fault::ArrivesLate, Fault::WaitsAfter(Gate::new("answer"))] {
            let shop = Shop::new();
            shop.faults.next(Operation::Claim, fault);
            shop.faults.always(Operation::Claim, Fault::NeverAnswers);
            let call = tokio::time::timeout(SECOND, shop.call().run(shop.body()));
            assert!(call.await.is_err(), "dropped");
            shop.faults.heal();
            shop.faults.deliver_late().await.unwrap();
            let (result, outcome) = shop.duplicate().await;
            assert_eq!((result, outcome.attempt()), (Ok(1), Some(1)), "no run had started");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_later_than_the_lease_is_put_back_and_asked_for_anew() {
        let shop = Shop::new();
        let gate = Gate::new("answer");
        shop.faults.next(Operation::Claim, Fault::WaitsAfter(gate.clone()));
        let call = spawn(with_outcome(shop.call().lease(SECOND).run(shop.body())));
        gate.reached().await;
        tokio::time::advance(SECOND).await;
        gate.open();
        let (result, outcome) = call.await.unwrap();
        assert_eq!((result.unwrap(), outcome.attempt()), (1, Some(1)), "put back, not counted");
        assert_eq!(shop.faults.calls(Operation::Claim), 2);
        assert_eq!(shop.faults.calls(Operation::PutBack), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_begin_without_an_answer_runs_nothing_and_counts_nothing() {
        let shop = Shop::new();
        shop.faults.always(Operation::Begin, Fault::Fails);
        let call = || shop.call().max_attempts(1);
        assert_eq!(kind(call().run(shop.body()).await), ErrorKind::StoreUnavailable);
        shop.faults.heal();
        let (result, outcome) = with_outcome(call().run(shop.body())).await;
        assert_eq!((result.unwrap(), outcome.attempt()), (1, Some(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_begun_mark_without_a_run_is_taken_back_also_after_a_long_outage() {
        for on_crash in [OnCrash::Rerun, OnCrash::Hold] {
            let shop = Shop::new();
            let call = |idempotency| Shop::on(idempotency).on_crash(on_crash).max_attempts(1);
            // The store marks the claim as begun, and is away before it can say so.
            shop.faults.next(Operation::Begin, Fault::LosesAnswer);
            shop.faults.always(Operation::Begin, Fault::Fails);
            shop.faults.always(Operation::PutBack, Fault::Fails);
            assert_eq!(kind(call(&shop.worker).run(shop.body()).await), ErrorKind::StoreUnavailable);
            tokio::time::sleep(10 * LEASE).await;
            assert_eq!(
                kind(call(&shop.other).run(shop.body()).await),
                ErrorKind::Exhausted,
                "nobody can know better yet"
            );
            let before = shop.faults.calls(Operation::PutBack);
            shop.faults.heal();
            let tried = tokio::time::timeout(LEASE, shop.faults.called(Operation::PutBack, before + 1));
            tried.await.expect("it is still being put back");
            shop.faults.quiet().await;
            let (result, outcome) = with_outcome(call(&shop.other).run(shop.body())).await;
            assert_eq!((result.unwrap(), outcome.attempt()), (1, Some(1)), "{on_crash:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_put_back_is_given_up_when_its_record_is_no_more() {
        let shop = Shop::new();
        shop.faults.always(Operation::Begin, Fault::Fails);
        shop.faults.always(Operation::PutBack, Fault::Fails);
        assert_eq!(kind(shop.call().max_attempts(1).run(shop.body()).await), ErrorKind::StoreUnavailable);
        tokio::time::sleep(HOUR + LEASE).await;
        let tries = shop.faults.calls(Operation::PutBack);
        tokio::time::sleep(HOUR).await;
        assert_eq!(shop.faults.calls(Operation::PutBack), tries, "tried for an hour, and no longer");
        assert_eq!(shop.worker.shutdown(SECOND).await, Ok(()), "nothing is pending");
    }

    #[tokio::test(start_paused = true)]
    async fn a_begin_whose_answer_is_lost_is_repeated() {
        let shop = Shop::new();
        shop.faults.next(Operation::Begin, Fault::LosesAnswer);
        assert_eq!(shop.call().max_attempts(1).run(shop.body()).await.unwrap(), 1);
        assert_eq!(shop.faults.calls(Operation::Begin), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_replacement_that_gets_no_answer_leaves_the_record() {
        let shop = Shop::new();
        assert_eq!(shop.call().run(shop.body()).await.unwrap(), 1);
        shop.faults.nth(Operation::Claim, 2, Fault::LosesAnswer);
        for nth in 3..40 {
            shop.faults.nth(Operation::Claim, nth, Fault::NeverAnswers);
        }
        let refuted = shop.call().verify(async { Ok(false) }).run(shop.body()).await;
        assert_eq!(kind(refuted), ErrorKind::StoreUnavailable);
        shop.faults.quiet().await;
        assert_eq!(shop.duplicate().await.0, Ok(1), "the claim in its place was put back");
    }
}

mod waiting {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_late_put_back_of_one_look_leaves_the_claim_of_the_next() {
        let (shop, first, second) = (Shop::new(), Gate::new("first"), Gate::new("second"));
        let owner = spawn(Shop::on(&shop.other).run(shop.gated(&first)));
        first.reached().await;
        // The answer to the first look is lost, so it is put back; that message is slow.
        shop.faults.next(Operation::Claim, Fault::LosesAnswer);
        shop.faults.always(Operation::PutBack, Fault::ArrivesLate);
        let waiter = spawn(shop.call().on_busy(OnBusy::Wait(LEASE)).run(shop.gated(&second)));
        shop.faults.called(Operation::PutBack, 1).await;
        owner.abort();
        second.reached().await;
        shop.faults.deliver_late().await.unwrap();
        assert_eq!(shop.duplicate().await.0, Err(ErrorKind::Busy), "the waiter's claim stands");
        second.open();
        assert_eq!(waiter.await.unwrap().unwrap(), 1);
    }
}

mod running {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_renewal_that_fails_is_repeated_and_the_handler_goes_on() {
        for fault in [Fault::Fails, Fault::LosesAnswer, Fault::NeverAnswers] {
            let (shop, gate) = (Shop::new(), Gate::new("body"));
            shop.faults.next(Operation::Renew, fault);
            let call = spawn(with_outcome(shop.call().run(shop.gated(&gate))));
            tokio::time::sleep(3 * LEASE).await;
            assert_eq!(shop.duplicate().await.0, Err(ErrorKind::Busy));
            gate.open();
            let (result, outcome) = call.await.unwrap();
            assert_eq!((result.unwrap(), outcome.kind()), (1, OutcomeKind::Executed));
        }
    }

    /// The worker stands still for longer than its lease, and another takes over.
    async fn overtaken(shop: &Shop, on_lost: OnLost) -> (Result<u32, Error>, Outcome) {
        let gate = Gate::new("body");
        let call = spawn(with_outcome(shop.call().on_lost(on_lost).run(shop.gated(&gate))));
        gate.reached().await;
        shop.faults.always(Operation::Renew, Fault::Fails);
        tokio::time::sleep(LEASE + SECOND).await;
        shop.take_over().await;
        shop.faults.heal();
        // The next renewal, at the latest, brings the news.
        tokio::time::sleep(LEASE / 12).await;
        gate.open();
        call.await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_that_was_taken_over_is_noticed_before_the_next_poll() {
        for on_lost in [OnLost::Cancel, OnLost::Strict] {
            let shop = Shop::new();
            let (result, outcome) = overtaken(&shop, on_lost).await;
            assert_eq!(kind(result), ErrorKind::ClaimLost);
            assert!(matches!(outcome.disposition(), Disposition::RetryAfter(_)));
            assert_eq!(shop.ran(), 0, "cancelled at its gate");
            assert_eq!(shop.duplicate().await.0, Err(ErrorKind::Busy), "the other's claim stands");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn under_finish_it_ends_and_says_that_it_lost() {
        let shop = Shop::new();
        let (result, outcome) = overtaken(&shop, OnLost::Finish).await;
        assert_eq!((result.unwrap(), outcome.kind()), (1, OutcomeKind::Lost));
        assert_eq!(outcome.disposition(), Disposition::Ack);
        assert_eq!(shop.duplicate().await.0, Err(ErrorKind::Busy), "the other's claim stands");
    }

    #[tokio::test(start_paused = true)]
    async fn a_loss_cancels_a_handler_that_waits_for_something_else() {
        let shop = Shop::new();
        let call = spawn(shop.call().run(std::future::pending::<Result<u32, Error>>()));
        tokio::task::yield_now().await;
        shop.faults.always(Operation::Renew, Fault::Fails);
        tokio::time::sleep(LEASE + SECOND).await;
        shop.take_over().await;
        shop.faults.heal();
        assert_eq!(kind(call.await.unwrap()), ErrorKind::ClaimLost, "told by the next renewal");
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_silent_for_longer_than_a_lease_stops_only_the_strict() {
        for (on_lost, expected) in [(OnLost::Cancel, Ok(1)), (OnLost::Finish, Ok(1)), (OnLost::Strict, Err(()))] {
            let (shop, gate) = (Shop::new(), Gate::new("body"));
            let call = spawn(shop.call().on_lost(on_lost).run(shop.gated(&gate)));
            gate.reached().await;
            shop.faults.go_down();
            tokio::time::sleep(2 * LEASE).await;
            gate.open();
            tokio::time::sleep(3 * SECOND).await;
            shop.faults.heal();
            let result = call.await.unwrap();
            assert_eq!(result.map_err(|error| assert_eq!(error.kind(), ErrorKind::ClaimLost)), expected, "{on_lost:?}");
            if expected.is_ok() {
                shop.faults.quiet().await;
                assert_eq!(
                    shop.duplicate().await.0,
                    Ok(1),
                    "nobody took over, so it completed when the store was back"
                );
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_was_aborted_is_renewed_no_more() {
        let (shop, gate) = (Shop::new(), Gate::new("body"));
        let call = spawn(shop.call().run(shop.gated(&gate)));
        gate.reached().await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        shop.faults.quiet().await;
        let renewals = shop.faults.calls(Operation::Renew);
        tokio::time::sleep(10 * LEASE).await;
        assert_eq!(shop.faults.calls(Operation::Renew), renewals);
        assert_eq!(shop.duplicate().await.0, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_call_is_released_when_the_store_is_back() {
        let (shop, gate) = (Shop::new(), Gate::new("body"));
        let call = spawn(shop.call().run(shop.gated(&gate)));
        gate.reached().await;
        shop.faults.go_down();
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        tokio::time::sleep(5 * SECOND).await;
        assert_eq!(shop.duplicate().await.0, Err(ErrorKind::Busy), "the lease stands");
        shop.faults.heal();
        tokio::time::sleep(SECOND).await;
        let (result, outcome) = shop.duplicate().await;
        assert_eq!((result, outcome.attempt()), (Ok(1), Some(2)), "long before the lease would have lapsed");
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_given_up_under_hold_is_not_renewed() {
        let (shop, gate) = (Shop::new(), Gate::new("body"));
        let call = spawn(shop.call().on_crash(OnCrash::Hold).run(shop.gated(&gate)));
        gate.reached().await;
        shop.faults.always(Operation::Release, Fault::Fails);
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        let renewals = shop.faults.calls(Operation::Renew);
        tokio::time::sleep(2 * LEASE).await;
        assert_eq!(shop.faults.calls(Operation::Renew), renewals);
        let held = Shop::on(&shop.other).on_crash(OnCrash::Hold).run(shop.body()).await;
        assert_eq!(kind(held), ErrorKind::Indeterminate, "lapsed by itself");
    }
}

mod settling {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_completion_whose_answer_is_lost_is_repeated() {
        let shop = Shop::new();
        shop.faults.next(Operation::Complete, Fault::LosesAnswer);
        let (result, outcome) = with_outcome(shop.call().run(shop.body())).await;
        assert_eq!((result.unwrap(), outcome.kind()), (1, OutcomeKind::Executed));
        assert_eq!(shop.duplicate().await.0, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_result_that_cannot_be_recorded_reaches_the_caller_and_is_recorded_later() {
        for fault in [Fault::Fails, Fault::NeverAnswers] {
            let shop = Shop::new();
            shop.faults.always(Operation::Complete, fault);
            let started = Instant::now();
            let (result, outcome) = with_outcome(shop.call().run(shop.body())).await;
            assert_eq!((result.unwrap(), outcome.kind()), (1, OutcomeKind::Executed), "the effect did happen");
            assert!(started.elapsed() <= 5 * SECOND, "{:?}", started.elapsed());

            tokio::time::sleep(10 * LEASE).await;
            assert_eq!(shop.duplicate().await.0, Err(ErrorKind::Busy), "kept, never a second run");
            assert_eq!(shop.worker.shutdown(SECOND).await, Err(1), "somebody still works on it");
            shop.faults.heal();
            assert_eq!(shop.worker.shutdown(LEASE).await, Ok(()));
            assert_eq!(shop.duplicate().await.0, Ok(1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_dropped_while_it_completes_is_completed() {
        for fault in [Fault::Fails, Fault::NeverAnswers, Fault::WaitsBefore(Gate::new("completion"))] {
            let shop = Shop::new();
            shop.faults.next(Operation::Complete, fault);
            let call = spawn(shop.call().run(shop.body()));
            shop.faults.called(Operation::Complete, 1).await;
            call.abort();
            let _ = call.await;
            assert_eq!(shop.worker.shutdown(LEASE).await, Ok(()));
            assert_eq!(shop.duplicate().await.0, Ok(1));
            assert_eq!(shop.ran(), 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_release_that_fails_does_not_hide_the_handlers_own_error() {
        let shop = Shop::new();
        shop.faults.always(Operation::Release, Fault::Fails);
        let own = shop.call().lease(Duration::ZERO).run(shop.body()).await.unwrap_err();
        let failed = shop.call().run(async { Err::<u32, Error>(own) }).await;
        assert_eq!(kind(failed), ErrorKind::Configuration, "the handler's own, unchanged");
        assert_eq!(shop.duplicate().await.0, Err(ErrorKind::Busy), "nobody knows yet");
        shop.faults.heal();
        tokio::time::sleep(SECOND).await;
        assert_eq!(shop.duplicate().await.0, Ok(1), "redelivery runs");
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_that_vanished_is_written_anew() {
        let (shop, gate) = (Shop::new(), Gate::new("body"));
        let call = spawn(with_outcome(shop.call().ttl(SECOND).lease(SECOND).run(shop.gated(&gate))));
        gate.reached().await;
        shop.faults.always(Operation::Renew, Fault::Fails);
        tokio::time::sleep(10 * SECOND).await;
        shop.faults.heal();
        shop.faults.always(Operation::Renew, Fault::NeverAnswers);
        gate.open();
        let (result, outcome) = call.await.unwrap();
        assert_eq!((result.unwrap(), outcome.kind()), (1, OutcomeKind::Executed));
        assert_eq!(shop.duplicate().await.0, Ok(1), "the effect just made is not made again");
    }

    #[tokio::test(start_paused = true)]
    async fn another_record_stands_beside_the_handlers_own_value() {
        let (shop, gate) = (Shop::new(), Gate::new("body"));
        let call = spawn(with_outcome(shop.call().on_lost(OnLost::Finish).run(shop.gated(&gate))));
        gate.reached().await;
        shop.faults.always(Operation::Renew, Fault::Fails);
        tokio::time::sleep(LEASE + SECOND).await;
        let second = Shop::on(&shop.other).run(async { Ok::<_, Error>(77) }).await;
        assert_eq!(second.unwrap(), 77, "it took the lapsed claim over");
        gate.open();
        let (result, outcome) = call.await.unwrap();
        assert_eq!((result.unwrap(), outcome.kind()), (1, OutcomeKind::Lost));
        assert_eq!(shop.duplicate().await.0, Ok(77));
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
