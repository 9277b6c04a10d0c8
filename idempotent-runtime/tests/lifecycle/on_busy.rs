//! `on_busy = wait(…)`: a duplicate waits for the other run's value.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_waiter_replays_as_soon_as_the_run_has_ended() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let running = Running::start(pay(&idempotency)).await;
    let waiting = tokio::spawn(pay(&idempotency).on_busy(OnBusy::Wait(MINUTE)).run(async { Ok::<_, Failure>(0) }));
    let started = tokio::time::Instant::now();
    tokio::time::sleep(10 * SECOND).await;
    running.go.notify_one();
    assert_eq!(waiting.await.unwrap(), Ok(7));
    assert_eq!(started.elapsed(), 10 * SECOND, "woken at once");
    assert_eq!(runs.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_runs_when_the_first_run_fails() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let running = Running::start(pay(&idempotency)).await;
    let waiting = async {
        let (result, outcome) = with_outcome(pay(&idempotency).on_busy(OnBusy::Wait(MINUTE)).run(runs.one())).await;
        (result, outcome.attempt())
    };
    let (result, ()) = tokio::join!(waiting, running.abort());
    assert_eq!(result, (Ok(1), Some(2)));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_whose_patience_ends_is_busy_and_changes_nothing() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let running = Running::start(pay(&idempotency)).await;
    let started = tokio::time::Instant::now();
    let waited = pay(&idempotency).on_busy(OnBusy::Wait(5 * SECOND)).run(runs.one()).await;
    assert_eq!(waited, refused(ErrorKind::Busy));
    assert_eq!(started.elapsed(), 5 * SECOND);
    running.go.notify_one();
    assert_eq!(running.task.await.unwrap(), Ok(7));
    assert_eq!(pay(&idempotency).run(runs.one()).await, Ok(7));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_waiters_get_one_value() {
    let idempotency = Idempotency::memory();
    let running = Running::start(pay(&idempotency)).await;
    let waiters: Vec<_> = (0..1000)
        .map(|_| tokio::spawn(pay(&idempotency).on_busy(OnBusy::Wait(MINUTE)).run(async { Ok::<u32, Failure>(0) })))
        .collect();
    tokio::task::yield_now().await;
    running.go.notify_one();
    for waiter in waiters {
        assert_eq!(waiter.await.unwrap(), Ok(7));
    }
}
