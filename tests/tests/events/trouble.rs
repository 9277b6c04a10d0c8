//! … when the store is in trouble, or a worker stands still.

use idempotent_runtime::testing::{Fault, Gate, Operation};
use idempotent_runtime::{ErrorKind, OnLost, OnOutage, Outcome, OutcomeKind, with_outcome};
use tokio::task::JoinHandle;

use crate::shop::{Reply, Shop, refused};

pub(crate) async fn a_call_runs_unguarded_in_an_outage_where_it_may(shop: Shop) {
    shop.faults.go_down();
    assert_eq!(shop.call().run(shop.body()).await, refused(ErrorKind::StoreUnavailable));
    for n in 1..=2 {
        let (result, outcome) = with_outcome(shop.call().on_outage(OnOutage::Run).run(shop.body())).await;
        assert_eq!((result, outcome.kind()), (Ok(n), OutcomeKind::Unguarded { ok: true }), "every time");
    }
    shop.faults.heal();
    shop.worker.shutdown(shop.lease).await.expect("what it gave up is put back");
    let (result, outcome) = with_outcome(shop.call().run(shop.body())).await;
    assert_eq!((result, outcome.attempt()), (Ok(3), Some(1)), "nothing was claimed");
}

/// A call in its body, whose renewals have failed for longer than its lease.
async fn in_doubt(shop: &Shop, on_lost: OnLost, gate: &Gate) -> JoinHandle<(Reply, Outcome)> {
    let call = tokio::spawn(with_outcome(shop.call().on_lost(on_lost).run(shop.gated(gate))));
    gate.reached().await;
    shop.faults.always(Operation::Renew, Fault::Fails);
    shop.pass(shop.lease * 11 / 10).await;
    call
}

pub(crate) async fn a_worker_that_was_overtaken_goes_no_further(shop: Shop) {
    let gate = Gate::new("body");
    let call = in_doubt(&shop, OnLost::Cancel, &gate).await;
    shop.claim_and_die(100 * shop.lease).await;
    shop.faults.heal();
    let (result, outcome) = call.await.expect("it ends, though its gate is closed");
    assert_eq!(result, refused(ErrorKind::ClaimLost));
    assert_eq!((outcome.as_str(), shop.ran()), ("claim_lost", 0));
    assert_eq!(shop.duplicate().await, refused(ErrorKind::Busy), "the other's claim stands");
}

pub(crate) async fn a_worker_that_was_not_overtaken_goes_on(shop: Shop) {
    let gate = Gate::new("body");
    let call = in_doubt(&shop, OnLost::Cancel, &gate).await;
    shop.faults.heal();
    gate.open();
    let (result, outcome) = call.await.expect("it ends");
    assert_eq!((result, outcome.kind()), (Ok(1), OutcomeKind::Executed), "a lapsed claim can still complete");
    assert_eq!(shop.duplicate().await, Ok(1));
}

pub(crate) async fn a_store_that_is_silent_for_a_lease_stops_only_the_strict(shop: Shop) {
    let gate = Gate::new("strict");
    let call = in_doubt(&shop, OnLost::Strict, &gate).await;
    gate.open();
    let (result, _) = call.await.expect("it ends");
    assert_eq!((result, shop.ran()), (refused(ErrorKind::ClaimLost), 0));
    shop.faults.heal();
    shop.until("its lease lapses", async || shop.duplicate().await == Ok(1)).await;

    let other = |name: &'static str, on_lost| {
        let call = shop.worker.call(name).key(1001).ttl(crate::shop::HOUR).lease(shop.lease);
        call.on_lost(on_lost)
    };
    for (name, on_lost) in [("cancel", OnLost::Cancel), ("finish", OnLost::Finish)] {
        let gate = Gate::new(name);
        let call = tokio::spawn(other(name, on_lost).run(shop.gated(&gate)));
        gate.reached().await;
        shop.faults.always(Operation::Renew, Fault::Fails);
        shop.pass(shop.lease * 11 / 10).await;
        gate.open();
        assert!(call.await.expect("it ends").is_ok(), "{name}: it goes on without the store's word");
        shop.faults.heal();
    }
}

pub(crate) async fn a_completion_that_comes_second_says_so(shop: Shop) {
    let gate = Gate::new("body");
    let call = in_doubt(&shop, OnLost::Finish, &gate).await;
    let second = shop.on(&shop.other).run(async { Reply::Ok(77) }).await;
    assert_eq!(second, Ok(77), "it took the lapsed claim over, and completed");
    shop.faults.heal();
    gate.open();
    let (result, outcome) = call.await.expect("it ends");
    assert_eq!((result, outcome.kind()), (Ok(1), OutcomeKind::Lost), "its own value");
    assert_eq!(shop.duplicate().await, Ok(77), "the other record stands");
}

pub(crate) async fn a_record_that_is_gone_is_written_anew(shop: Shop) {
    let gate = Gate::new("body");
    // It is kept for two leases, and expires.
    let call = tokio::spawn(with_outcome(shop.call().ttl(2 * shop.lease).run(shop.gated(&gate))));
    gate.reached().await;
    shop.faults.always(Operation::Renew, Fault::Fails);
    shop.pass(3 * shop.lease).await;
    gate.open();
    let (result, outcome) = call.await.expect("it ends");
    assert_eq!((result, outcome.kind()), (Ok(1), OutcomeKind::Executed));
    assert_eq!(shop.duplicate().await, Ok(1), "the effect just made is not made again");
}
