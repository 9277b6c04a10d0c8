//! Trouble between the call and its claim.

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
        assert_eq!(kind(call(&shop.other).run(shop.body()).await), ErrorKind::Exhausted, "nobody can know better yet");
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
