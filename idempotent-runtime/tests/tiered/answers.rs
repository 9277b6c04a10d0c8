//! Who answers what, and what becomes of a call when one of the two is away.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idempotent_runtime::admin::Decision;
use idempotent_runtime::store::TieredStore;
use idempotent_runtime::testing::{Fault, FaultyStore, Gate, Operation};
use idempotent_runtime::{
    CallBuilder, Error, ErrorKind, Idempotency, MemoryStore, OnBusy, OnCrash, Outcome, Store, with_outcome,
};
use tokio::time::{advance, sleep};

use crate::front::{Harm, Shaky};

const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_hours(1);
const FRONT_TTL: Duration = Duration::from_mins(10);

/// Two processes, each with a front and a truth that obey the test, on the same two stores.
struct Shop {
    front: FaultyStore,
    truth: FaultyStore,
    here: Idempotency,
    elsewhere: Idempotency,
    runs: Arc<AtomicU32>,
}

fn tiers(front: impl Store, truth: impl Store) -> TieredStore {
    TieredStore::builder(front, truth).front_ttl(FRONT_TTL).build()
}

impl Shop {
    fn new() -> Self {
        let (front, truth) = (MemoryStore::new(), MemoryStore::new());
        let elsewhere = Idempotency::builder().owner("elsewhere").build(tiers(front.clone(), truth.clone()));
        let (front, truth) = (FaultyStore::new(front), FaultyStore::new(truth));
        let here = Idempotency::builder().owner("here").build(tiers(front.clone(), truth.clone())).unwrap();
        Self { front, truth, here, elsewhere: elsewhere.unwrap(), runs: Arc::default() }
    }

    fn order(idempotency: &Idempotency) -> CallBuilder {
        idempotency.call("order").key(1001).ttl(HOUR).lease(LEASE)
    }

    /// A body that counts itself.
    fn body(&self) -> impl Future<Output = Result<u32, Error>> + Send + use<> {
        let runs = Arc::clone(&self.runs);
        async move { Ok(1 + runs.fetch_add(1, Ordering::SeqCst)) }
    }

    /// A body that counts itself once the gate lets it through.
    fn gated(&self, gate: &Gate) -> impl Future<Output = Result<u32, Error>> + Send + use<> {
        let (body, gate) = (self.body(), gate.clone());
        async move {
            gate.pass().await;
            body.await
        }
    }

    async fn call(&self) -> (Result<u32, ErrorKind>, Outcome) {
        settled(Self::order(&self.here).run(self.body())).await
    }

    async fn call_elsewhere(&self) -> (Result<u32, ErrorKind>, Outcome) {
        settled(Self::order(&self.elsewhere).run(self.body())).await
    }

    fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }

    /// A person makes the completed record claimable again.
    async fn release_by_hand(&self, idempotency: &Idempotency) {
        let key = idempotency.key("order", &[&1001]).unwrap();
        let seen = idempotency.inspect(&key).await.unwrap().expect("there is a record");
        let decision = Decision { who: "ada", why: "it was thrown away" };
        idempotency.release(&key, &seen, decision).await.unwrap();
    }
}

/// A handler's own error.
#[derive(Debug)]
struct Burnt;

impl From<Error> for Burnt {
    fn from(_: Error) -> Self {
        Self
    }
}

async fn settled(run: impl Future<Output = Result<u32, Error>>) -> (Result<u32, ErrorKind>, Outcome) {
    let (result, outcome) = with_outcome(run).await;
    (result.map_err(|error| error.kind()), outcome)
}

fn asked(store: &FaultyStore) -> usize {
    store.history().len()
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_is_answered_by_the_front_in_one_round_trip() {
    let shop = Shop::new();
    assert_eq!(shop.call().await.0, Ok(1));
    let before = (asked(&shop.front), asked(&shop.truth));
    let (value, outcome) = shop.call().await;
    assert_eq!((value, outcome.as_str(), outcome.attempt()), (Ok(1), "replayed", Some(1)));
    assert_eq!((asked(&shop.front), asked(&shop.truth)), (before.0 + 1, before.1));
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_of_a_run_is_told_by_the_front() {
    let (shop, gate) = (Shop::new(), Gate::new("the body"));
    let run = tokio::spawn(Shop::order(&shop.elsewhere).run(shop.gated(&gate)));
    gate.reached().await;
    assert_eq!(shop.call().await.0, Err(ErrorKind::Busy));
    assert_eq!(asked(&shop.truth), 0);
    gate.open();
    assert_eq!(run.await.unwrap().unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_first_call_is_the_truths_and_completes_there_first() {
    let shop = Shop::new();
    shop.truth.next(Operation::Complete, Fault::Fails);
    assert_eq!(shop.call().await.0, Ok(1));
    let told = |store: &FaultyStore| store.history().iter().map(|call| call.operation).collect::<Vec<_>>();
    assert_eq!(told(&shop.truth), [Operation::Claim, Operation::Complete, Operation::Complete]);
    assert_eq!(told(&shop.front), [Operation::Claim, Operation::Begin, Operation::Complete], "once the truth has it");
}

#[tokio::test(start_paused = true)]
async fn a_front_that_has_lost_everything_gets_a_copy_with_the_next_duplicate() {
    let truth = MemoryStore::new();
    let of = |front: MemoryStore| Idempotency::with_store(tiers(front, truth.clone()));
    let failing = of(MemoryStore::new());
    Shop::order(&failing).run(async { Err::<u32, _>(Burnt) }).await.unwrap_err();
    let second = settled(Shop::order(&failing).run(async { Ok(7) })).await;
    assert_eq!((second.0, second.1.attempt()), (Ok(7), Some(2)));

    let front = FaultyStore::new(MemoryStore::new());
    let truth = FaultyStore::new(truth.clone());
    let emptied = Idempotency::with_store(tiers(front.clone(), truth.clone()));
    for _ in 0..2 {
        let (value, outcome) = settled(Shop::order(&emptied).run(async { Ok(8) })).await;
        assert_eq!((value, outcome.as_str(), outcome.attempt()), (Ok(7), "replayed", Some(2)));
        assert_eq!(truth.calls(Operation::Claim), 1, "the second is told by the copy");
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_goes_with_its_record() {
    let shop = Shop::new();
    let brief = |idempotency: &Idempotency| Shop::order(idempotency).ttl(10 * SECOND);
    assert_eq!(settled(brief(&shop.here).run(shop.body())).await.0, Ok(1));
    advance(9 * SECOND).await;
    assert_eq!(settled(brief(&shop.here).run(shop.body())).await.0, Ok(1));
    advance(2 * SECOND).await;
    assert_eq!(settled(brief(&shop.here).run(shop.body())).await.0, Ok(2), "the truth keeps it no longer");
}

#[tokio::test(start_paused = true)]
async fn the_front_keeps_a_copy_for_its_own_time() {
    let shop = Shop::new();
    assert_eq!(shop.call().await.0, Ok(1));
    advance(FRONT_TTL + SECOND).await;
    let before = shop.truth.calls(Operation::Claim);
    assert_eq!(shop.call().await.0, Ok(1));
    assert_eq!(shop.truth.calls(Operation::Claim), before + 1, "the truth is asked again");
    assert_eq!(shop.call().await.0, Ok(1));
    assert_eq!(shop.truth.calls(Operation::Claim), before + 1);
}

#[tokio::test(start_paused = true)]
async fn without_a_front_the_truth_is_asked_alone() {
    let shop = Shop::new();
    shop.front.go_down();
    assert_eq!(shop.call().await.0, Ok(1));
    assert_eq!(shop.call().await.0, Ok(1));
    assert_eq!(shop.call_elsewhere().await.0, Ok(1));
    shop.front.heal();
    // What it could not be told, it is told.
    sleep(2 * SECOND).await;
    assert_eq!(shop.call().await.0, Ok(1));
    let before = asked(&shop.truth);
    assert_eq!(shop.call().await.0, Ok(1));
    assert_eq!(asked(&shop.truth), before, "the front answers again");
}

#[tokio::test(start_paused = true)]
async fn a_front_that_hangs_costs_time_once_in_a_while() {
    let shop = Shop::new();
    for operation in Operation::ALL {
        shop.front.always(operation, Fault::NeverAnswers);
    }
    let started = tokio::time::Instant::now();
    for _ in 0..20 {
        assert_eq!(shop.call().await.0, Ok(1));
    }
    assert!(started.elapsed() < SECOND, "{:?}", started.elapsed());
    assert_eq!(shop.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_front_that_hangs_puts_no_lease_in_doubt() {
    let shop = Shop::new();
    shop.front.always(Operation::Renew, Fault::NeverAnswers);
    let body = shop.body();
    let long = Shop::order(&shop.here).run(async move {
        sleep(4 * LEASE).await;
        body.await
    });
    assert_eq!(settled(long).await.0, Ok(1));
    assert!(shop.truth.calls(Operation::Renew) >= 10);
}

#[tokio::test(start_paused = true)]
async fn without_the_truth_nothing_runs_and_duplicates_are_answered() {
    let shop = Shop::new();
    assert_eq!(shop.call().await.0, Ok(1));
    shop.truth.go_down();
    assert_eq!(shop.call().await.0, Ok(1), "the front knows it");
    let other = shop.here.call("order").key(1002).ttl(HOUR);
    assert_eq!(settled(other.run(shop.body())).await.0, Err(ErrorKind::StoreUnavailable));
    assert_eq!(shop.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn only_the_truth_says_that_a_run_stopped_half_way() {
    let shop = Shop::new();
    let held = |idempotency: &Idempotency| Shop::order(idempotency).on_crash(OnCrash::Hold);
    let stopped = held(&shop.here).run(async {
        assert_eq!(1, 2, "half way");
        Ok::<u32, Error>(0)
    });
    tokio::spawn(stopped).await.unwrap_err();
    sleep(SECOND).await;
    for idempotency in [&shop.here, &shop.elsewhere] {
        let before = shop.truth.calls(Operation::Claim);
        assert_eq!(settled(held(idempotency).run(shop.body())).await.0, Err(ErrorKind::Indeterminate));
        assert!(shop.truth.calls(Operation::Claim) <= before + 1);
    }
    assert_eq!(shop.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_person_changes_is_taken_out_of_the_front() {
    let shop = Shop::new();
    assert_eq!(shop.call().await.0, Ok(1));
    shop.release_by_hand(&shop.here).await;
    assert_eq!(shop.call_elsewhere().await.0, Ok(2));
    assert_eq!(shop.call().await.0, Ok(2));
}

#[tokio::test(start_paused = true)]
async fn a_completion_that_reaches_the_front_after_a_change_is_not_shown() {
    let (shop, gate) = (Shop::new(), Gate::new("the front's completion"));
    shop.front.next(Operation::Complete, Fault::WaitsBefore(gate.clone()));
    let run = tokio::spawn(Shop::order(&shop.here).run(shop.body()));
    gate.reached().await;
    // The truth has it, and the front not yet.
    shop.release_by_hand(&shop.elsewhere).await;
    gate.open();
    assert_eq!(run.await.unwrap().unwrap(), 1);
    assert_eq!(shop.call_elsewhere().await.0, Ok(2), "the change stands");
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_reaches_the_front_after_a_change_is_not_shown() {
    let (shop, gate) = (Shop::new(), Gate::new("the copy"));
    assert_eq!(shop.call_elsewhere().await.0, Ok(1));
    advance(FRONT_TTL + SECOND).await;
    shop.front.next(Operation::Complete, Fault::WaitsBefore(gate.clone()));
    let copying = tokio::spawn(Shop::order(&shop.here).run(shop.body()));
    gate.reached().await;
    shop.release_by_hand(&shop.elsewhere).await;
    gate.open();
    assert_eq!(copying.await.unwrap().unwrap(), 1, "it asked before");
    assert_eq!(shop.call_elsewhere().await.0, Ok(2), "the change stands");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_reaches_the_front_late_does_not_stay() {
    let shop = Shop::new();
    shop.front.next(Operation::Claim, Fault::LosesAnswer);
    assert_eq!(shop.call().await.0, Ok(1), "the truth was asked alone");
    sleep(SECOND).await;
    let before = asked(&shop.truth);
    assert_eq!(shop.call_elsewhere().await.0, Ok(1));
    assert_eq!(shop.call().await.0, Ok(1));
    assert_eq!(asked(&shop.truth), before, "the front has a copy");
}

#[tokio::test(start_paused = true)]
async fn a_waiter_is_woken_by_the_end_of_a_run() {
    let (shop, gate) = (Shop::new(), Gate::new("the body"));
    let run = tokio::spawn(Shop::order(&shop.elsewhere).run(shop.gated(&gate)));
    gate.reached().await;
    let waiting = Shop::order(&shop.here).on_busy(OnBusy::Wait(20 * SECOND)).run(shop.body());
    let waiting = tokio::spawn(settled(waiting));
    sleep(10 * SECOND).await;
    let opened = tokio::time::Instant::now();
    gate.open();
    assert_eq!(waiting.await.unwrap().0, Ok(1));
    assert!(opened.elapsed() < Duration::from_millis(100), "{:?}", opened.elapsed());
    run.await.unwrap().unwrap();
}

/// Many calls of many keys, while the front goes back to an earlier state, is emptied or fails all the time.
#[tokio::test(start_paused = true)]
async fn no_key_runs_twice_whatever_becomes_of_the_front() {
    for harm in [Harm::FailsOver, Harm::Emptied, Harm::Fails, Harm::LosesAnswers] {
        for every in [3, 10, 31, 100] {
            let idempotency = Idempotency::with_store(tiers(Shaky::new(harm, every), MemoryStore::new()));
            let runs: Arc<[AtomicU32; 40]> = Arc::new(std::array::from_fn(|_| AtomicU32::new(0)));
            let calls = (0..400).map(|at| {
                let (runs, key) = (Arc::clone(&runs), at * 7 % 40);
                let call = idempotency.call("order").key(key).ttl(HOUR).on_busy(OnBusy::Wait(60 * SECOND));
                tokio::spawn(call.run(async move {
                    sleep(Duration::from_millis(20)).await;
                    runs[key].fetch_add(1, Ordering::SeqCst);
                    Ok::<_, Error>(key)
                }))
            });
            let calls: Vec<_> = calls.collect();
            for (at, call) in calls.into_iter().enumerate() {
                assert_eq!(call.await.unwrap().unwrap(), at * 7 % 40, "{harm:?} {every}");
            }
            assert!(runs.iter().all(|runs| runs.load(Ordering::SeqCst) == 1), "{harm:?} {every}: {runs:?}");
        }
    }
}
