//! `timeout`: a run that takes too long.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_run_that_takes_too_long_is_ended_and_released() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let hangs = pay(&idempotency).timeout(MINUTE).run(std::future::pending::<Result<u32, Failure>>());
    let (result, outcome) = with_outcome(hangs).await;
    assert_eq!(result, refused(ErrorKind::TimedOut));
    assert!(matches!(outcome.disposition(), Disposition::RetryAfter(_)));
    let (result, outcome) = with_outcome(pay(&idempotency).timeout(MINUTE).run(runs.one())).await;
    assert_eq!((result, outcome.attempt()), (Ok(1), Some(2)));
}

#[tokio::test(start_paused = true)]
async fn under_hold_it_is_indeterminate() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let held = || pay(&idempotency).on_crash(OnCrash::Hold).timeout(MINUTE);
    let hangs = held().run(std::future::pending::<Result<u32, Failure>>());
    assert_eq!(hangs.await, refused(ErrorKind::TimedOut));
    assert_eq!(held().run(runs.one()).await, refused(ErrorKind::Indeterminate));
}

#[tokio::test(start_paused = true)]
async fn the_body_is_dropped_before_its_claim() {
    struct Claimed(Idempotency);
    impl Drop for Claimed {
        fn drop(&mut self) {
            let key = self.0.key("pay", &[&1001]).unwrap();
            let mut inspect = self.0.store().admin().unwrap().inspect(&key);
            let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
            let std::task::Poll::Ready(Ok(Some(record))) = inspect.as_mut().poll(&mut cx) else {
                panic!("memory answers at once")
            };
            assert!(record.is_live());
        }
    }
    let idempotency = Idempotency::memory();
    let claimed = Claimed(idempotency.clone());
    let hangs = pay(&idempotency).timeout(MINUTE).run(async move {
        let _claimed = claimed;
        std::future::pending::<Result<u32, Failure>>().await
    });
    assert_eq!(hangs.await, refused(ErrorKind::TimedOut));
}
