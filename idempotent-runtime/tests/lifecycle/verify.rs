//! `verify`: is the effect still there?

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
