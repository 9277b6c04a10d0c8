//! … when a call comes.

use idempotent_runtime::testing::Gate;
use idempotent_runtime::{Disposition, Error, ErrorKind, OnBusy, OnCrash, OutcomeKind, Replies, current, with_outcome};
use serde::Serialize;
use serde::ser::Error as _;

use crate::shop::{Failure, HOUR, Reply, Shop, refused};

pub(crate) async fn a_new_key_runs_and_is_kept_for_its_ttl(shop: Shop) {
    let call = || shop.call().ttl(2 * shop.lease);
    let (result, outcome) = with_outcome(call().run(shop.body())).await;
    assert_eq!((result, outcome.kind(), outcome.attempt()), (Ok(1), OutcomeKind::Executed, Some(1)));
    assert_eq!(call().run(shop.body()).await, Ok(1));
    shop.pass(2 * shop.lease + shop.lease / 10).await;
    assert_eq!(call().run(shop.body()).await, Ok(2), "its ttl is over");
}

pub(crate) async fn a_completed_key_is_replayed_skipped_or_rejected(shop: Shop) {
    assert_eq!(shop.call().run(shop.body()).await, Ok(1));
    let (result, outcome) = with_outcome(shop.on(&shop.other).run(shop.body())).await;
    assert_eq!((result, outcome.kind(), outcome.disposition()), (Ok(1), OutcomeKind::Replayed, Disposition::Ack));
    let (result, outcome) = with_outcome(shop.call().run_with(Replies::skipped(), shop.body())).await;
    assert_eq!((result, outcome.kind()), (Ok(0), OutcomeKind::Skipped));
    let (result, outcome) = with_outcome(shop.call().run_with(Replies::rejected(), shop.body())).await;
    assert_eq!((result, outcome.disposition()), (refused(ErrorKind::Duplicate), Disposition::Ack));
    assert_eq!(shop.ran(), 1);
}

pub(crate) async fn a_record_without_its_effect_is_replaced(shop: Shop) {
    assert_eq!(shop.call().run(shop.body()).await, Ok(1));
    assert_eq!(shop.call().verify(async { Ok(true) }).run(shop.body()).await, Ok(1));
    let (result, outcome) = with_outcome(shop.call().verify(async { Ok(false) }).run(shop.body())).await;
    assert_eq!((result, outcome.kind(), outcome.attempt()), (Ok(2), OutcomeKind::Executed, Some(2)));
    assert_eq!(shop.duplicate().await, Ok(2));
}

pub(crate) async fn a_key_in_progress_is_busy(shop: Shop) {
    let gate = Gate::new("body");
    let first = tokio::spawn(shop.call().run(shop.gated(&gate)));
    gate.reached().await;
    // Also after its first lease would have lapsed: it is renewed.
    for _ in 0..3 {
        let (result, outcome) = with_outcome(shop.on(&shop.other).run(shop.body())).await;
        assert_eq!(result, refused(ErrorKind::Busy));
        let Disposition::RetryAfter(hint) = outcome.disposition() else { panic!("{outcome:?}") };
        assert!(hint <= shop.lease, "never beyond the remaining lease: {hint:?}");
        shop.pass(shop.lease * 3 / 5).await;
    }
    gate.open();
    assert_eq!(first.await.expect("it ends"), Ok(1));
    assert_eq!(shop.duplicate().await, Ok(1));
}

pub(crate) async fn a_waiter_gets_the_value_or_runs(shop: Shop) {
    let waits = || shop.on(&shop.other).on_busy(OnBusy::Wait(HOUR)).run(shop.body());
    let gate = Gate::new("fails");
    let at_the_gate = gate.clone();
    let fails = tokio::spawn(shop.call().run(async move {
        at_the_gate.pass().await;
        Reply::Err(Failure::Burnt)
    }));
    gate.reached().await;
    let waiter = tokio::spawn(waits());
    shop.pass(shop.lease / 2).await;
    gate.open();
    assert_eq!(fails.await.expect("it ends"), Err(Failure::Burnt));
    assert_eq!(waiter.await.expect("it ends"), Ok(1), "the first run has failed, so it runs");
    assert_eq!(waits().await, Ok(1), "and this one is answered");
}

pub(crate) async fn other_arguments_are_a_mismatch_in_every_state(shop: Shop) {
    let mine = || shop.call().fingerprint(&12);
    let other = async || shop.on(&shop.other).fingerprint(&13).run(shop.body()).await;
    let gate = Gate::new("body");
    let first = tokio::spawn(mine().run(shop.gated(&gate)));
    gate.reached().await;
    assert_eq!(other().await, refused(ErrorKind::Mismatch), "in progress");
    gate.open();
    assert_eq!(first.await.expect("it ends"), Ok(1));
    assert_eq!(other().await, refused(ErrorKind::Mismatch), "completed");
    assert_eq!(mine().run(shop.body()).await, Ok(1), "and the record is untouched");
}

pub(crate) async fn a_key_without_a_part_runs_nothing(shop: Shop) {
    let call = shop.worker.call("order").key(1001).key(None::<u32>).ttl(HOUR);
    let (result, outcome) = with_outcome(call.run(shop.body())).await;
    assert_eq!((result, outcome.disposition()), (refused(ErrorKind::MissingKeyPart), Disposition::DeadLetter));
    assert_eq!((shop.ran(), shop.faults.history().len()), (0, 0));
}

pub(crate) async fn a_fingerprint_that_cannot_be_computed_runs_nothing(shop: Shop) {
    let result = shop.call().fingerprint(&Stubborn).run(shop.body()).await;
    assert_eq!(result, refused(ErrorKind::Fingerprint));
    assert_eq!((shop.ran(), shop.faults.history().len()), (0, 0));
}

pub(crate) struct Stubborn;

impl Serialize for Stubborn {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("it will not"))
    }
}

pub(crate) async fn a_record_that_cannot_be_read_runs_nothing(shop: Shop) {
    shop.call().run(async { Ok::<_, Error>("text".to_owned()) }).await.expect("it runs");
    let (changed, outcome) = with_outcome(shop.call().run(shop.body())).await;
    assert_eq!((changed, outcome.disposition()), (refused(ErrorKind::Unreadable), Disposition::DeadLetter));
    if shop.spoil() {
        assert_eq!(shop.duplicate().await, refused(ErrorKind::Unreadable));
        assert_eq!(shop.duplicate().await, refused(ErrorKind::Unreadable), "and again");
    }
    assert_eq!(shop.ran(), 0);
}

pub(crate) async fn an_effect_that_exists_is_recorded(shop: Shop) {
    let held = || shop.call().on_crash(OnCrash::Hold);
    // A run of which nobody knows what it did.
    let hangs = held().timeout(shop.lease / 10).run(std::future::pending::<Reply>());
    assert_eq!(hangs.await, refused(ErrorKind::TimedOut));
    shop.worker.shutdown(shop.lease).await.expect("it is given up in the background");
    assert_eq!(held().run(shop.body()).await, refused(ErrorKind::Indeterminate));
    let (result, outcome) = with_outcome(held().existing(async { Ok(Some(7)) }).run(shop.body())).await;
    assert_eq!((result, outcome.kind()), (Ok(7), OutcomeKind::Existing));
    assert_eq!(shop.duplicate().await, Ok(7));
    assert_eq!(shop.ran(), 0);
}

pub(crate) async fn a_question_that_fails_leaves_the_record_as_it_was(shop: Shop) {
    let fails = || shop.call().existing(async { Err(Failure::Burnt) }).run(shop.body());
    assert_eq!(fails().await, Err(Failure::Burnt), "on nothing");
    let (result, outcome) = with_outcome(shop.call().run(shop.body())).await;
    assert_eq!((result, outcome.attempt()), (Ok(1), Some(1)), "no run had started");
    let refuted = shop.call().verify(async { Ok(false) }).existing(async { Err(Failure::Burnt) });
    assert_eq!(refuted.run(shop.body()).await, Err(Failure::Burnt), "in place of a completed record");
    assert_eq!(shop.duplicate().await, Ok(1));
    let unsure = shop.call().verify(async { Err(Failure::Burnt) });
    assert_eq!(unsure.run(shop.body()).await, Err(Failure::Burnt));
    assert_eq!(shop.duplicate().await, Ok(1));
}

pub(crate) async fn a_handler_in_a_handler_has_a_record_of_its_own(shop: Shop) {
    let inner = || shop.worker.call("inner").key(1001).ttl(HOUR).lease(shop.lease).run(shop.body());
    let outer = shop.call().run(async {
        let own = current().expect("a claim").key().to_string();
        let value = inner().await?;
        assert_eq!(current().expect("a claim").key().as_str(), own, "back outside");
        Ok::<_, Failure>(10 + value)
    });
    assert_eq!(outer.await, Ok(11));
    assert_eq!(inner().await, Ok(1));
    assert_eq!(shop.duplicate().await, Ok(11));
}
