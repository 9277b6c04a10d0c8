//! Trouble between the handler's return and its record.

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
