//! `existing`: the effect may be there already.

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
