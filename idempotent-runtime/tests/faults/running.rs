//! Trouble while the handler runs.

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
            assert_eq!(shop.duplicate().await.0, Ok(1), "nobody took over, so it completed when the store was back");
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
