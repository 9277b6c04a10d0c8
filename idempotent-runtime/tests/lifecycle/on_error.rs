//! `on_error`: an error that is the result.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_recorded_error_is_the_result() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let replies = || Replies::recorded().errors_recorded();
    let (first, outcome) = with_outcome(pay(&idempotency).run_with(replies(), async { Err(Failure::Declined) })).await;
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
