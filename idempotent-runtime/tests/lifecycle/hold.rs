//! `on_crash = hold`: a run that stopped half way waits for a person.

use super::*;

fn held(idempotency: &Idempotency) -> CallBuilder {
    pay(idempotency).on_crash(OnCrash::Hold)
}

#[tokio::test(start_paused = true)]
async fn a_dropped_run_is_indeterminate_and_does_not_expire() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    Running::start(held(&idempotency)).await.abort().await;
    for _ in 0..3 {
        let (result, outcome) = with_outcome(held(&idempotency).run(runs.one())).await;
        assert_eq!(result, refused(ErrorKind::Indeterminate));
        assert_eq!(outcome.disposition(), Disposition::DeadLetter);
        tokio::time::advance(1000 * HOUR).await;
    }
    assert_eq!(runs.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_indeterminate() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let call = held(&idempotency).run(async { if true { panic!("half way") } else { runs_never().await } });
    assert!(tokio::spawn(call).await.unwrap_err().is_panic());
    assert_eq!(held(&idempotency).run(runs.one()).await, refused(ErrorKind::Indeterminate));
}

async fn runs_never() -> Result<u32, Failure> {
    unreachable!()
}

#[tokio::test(start_paused = true)]
async fn an_error_is_released_like_any_other() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    assert_eq!(held(&idempotency).run(async { Err(Failure::Network) }).await, Err::<u32, _>(Failure::Network));
    assert_eq!(held(&idempotency).run(runs.one()).await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn existing_settles_an_abandoned_record() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    Running::start(held(&idempotency)).await.abort().await;
    let asked = held(&idempotency).existing(async { Ok(Some(7)) }).run(runs.one()).await;
    assert_eq!(asked, Ok(7), "the effect is there: recorded and returned");
    assert_eq!(held(&idempotency).run(runs.one()).await, Ok(7), "and replayed");
    assert_eq!(runs.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn existing_that_finds_nothing_lets_an_abandoned_record_run() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    Running::start(held(&idempotency)).await.abort().await;
    assert_eq!(held(&idempotency).existing(async { Ok(None) }).run(runs.one()).await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn existing_that_fails_leaves_an_abandoned_record_abandoned() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    Running::start(held(&idempotency)).await.abort().await;
    let asked = held(&idempotency).existing(async { Err(Failure::Network) }).run(runs.one()).await;
    assert_eq!(asked, Err(Failure::Network));
    assert_eq!(held(&idempotency).run(runs.one()).await, refused(ErrorKind::Indeterminate));
    assert_eq!(runs.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_person_resolves_or_releases_what_was_looked_at() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let key = idempotency.key("pay", &[&1001]).unwrap();
    Running::start(held(&idempotency)).await.abort().await;
    let seen = idempotency.inspect(&key).await.unwrap().expect("a record");
    assert!(matches!(seen.state, State::InProgress { begun: true, given_up: true, .. }));
    assert!(!seen.is_live());

    idempotency.resolve(&key, &seen, &12, HOUR, BY).await.unwrap();
    assert_eq!(held(&idempotency).run(runs.one()).await, Ok(12));
    let again = idempotency.release(&key, &seen, BY).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Mismatch, "it is no longer as it was seen");

    let seen = idempotency.inspect(&key).await.unwrap().expect("a record");
    idempotency.release(&key, &seen, BY).await.unwrap();
    assert_eq!(held(&idempotency).run(runs.one()).await, Ok(1), "a deliberate second run");
}

#[tokio::test(start_paused = true)]
async fn a_person_cannot_take_a_live_run_away() {
    let idempotency = Idempotency::memory();
    let key = idempotency.key("pay", &[&1001]).unwrap();
    let running = Running::start(held(&idempotency)).await;
    let seen = idempotency.inspect(&key).await.unwrap().expect("a record");
    assert_eq!(idempotency.release(&key, &seen, BY).await.unwrap_err().kind(), ErrorKind::Busy);
    running.go.notify_one();
    assert_eq!(running.task.await.unwrap(), Ok(7));
}
