//! `max_attempts`: a poison message comes to an end.

use super::*;

fn thrice(idempotency: &Idempotency) -> CallBuilder {
    pay(idempotency).max_attempts(3)
}

#[tokio::test(start_paused = true)]
async fn three_runs_start_and_the_fourth_is_exhausted_however_they_end() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let failed = thrice(&idempotency).run(async { Err::<u32, _>(Failure::Network) }).await;
    assert_eq!(failed, Err(Failure::Network));
    let panicked = thrice(&idempotency).run(async {
        assert!(std::hint::black_box(false), "panics");
        Ok::<u32, Failure>(1)
    });
    assert!(tokio::spawn(panicked).await.unwrap_err().is_panic());
    Running::start(thrice(&idempotency)).await.abort().await;

    let (result, outcome) = with_outcome(thrice(&idempotency).run(runs.one())).await;
    assert_eq!(result, refused(ErrorKind::Exhausted));
    assert_eq!(outcome.disposition(), Disposition::DeadLetter);
    assert_eq!(runs.count(), 0);

    let key = idempotency.key("pay", &[&1001]).unwrap();
    let seen = idempotency.inspect(&key).await.unwrap().expect("a record");
    assert_eq!(seen.attempt, 3);
    idempotency.allow_one_more(&key, &seen, BY).await.unwrap();
    assert_eq!(thrice(&idempotency).run(runs.one()).await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_before_its_body_was_polled_is_no_run() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    for _ in 0..5 {
        // `existing` never answers, so the body is never polled.
        let asking = thrice(&idempotency).existing(std::future::pending()).run(runs.one());
        assert!(tokio::time::timeout(SECOND, asking).await.is_err());
    }
    let (result, outcome) = with_outcome(thrice(&idempotency).run(runs.one())).await;
    assert_eq!((result, outcome.attempt()), (Ok(1), Some(1)));
}

#[tokio::test]
async fn no_attempt_at_all_is_a_mistake() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    assert_eq!(pay(&idempotency).max_attempts(0).run(runs.one()).await, refused(ErrorKind::Configuration));
}
