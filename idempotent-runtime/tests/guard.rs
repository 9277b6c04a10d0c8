//! One call from its claim to its end, on the memory store with a paused clock: design's section "what happens, event
//! by event", for the options that need no crash.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idempotent_runtime::{CallBuilder, Disposition, Error, ErrorKind, Idempotency, OutcomeKind, current, with_outcome};
use tokio::sync::Notify;

const HOUR: Duration = Duration::from_hours(1);

#[derive(Debug)]
enum Failure {
    Kitchen(&'static str),
    Idempotency(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Idempotency(error)
    }
}

impl Failure {
    fn kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Kitchen(_) => None,
            Self::Idempotency(error) => Some(error.kind()),
        }
    }
}

struct Shop {
    idempotency: Idempotency,
    runs: AtomicU32,
}

impl Shop {
    fn new() -> Arc<Self> {
        Arc::new(Self { idempotency: Idempotency::memory(), runs: AtomicU32::new(0) })
    }

    fn call(&self) -> CallBuilder {
        self.idempotency.call("order:consume").key(1001).ttl(HOUR)
    }

    fn ran(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }

    async fn prepare(&self) -> Result<u32, Failure> {
        Ok(self.runs.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_gets_the_recorded_value_and_nothing_runs() {
    let shop = Shop::new();
    for kind in [OutcomeKind::Executed, OutcomeKind::Replayed, OutcomeKind::Replayed] {
        let (result, outcome) = with_outcome(shop.call().run(shop.prepare())).await;
        assert_eq!(result.unwrap(), 1);
        assert_eq!(outcome.kind(), kind);
        assert_eq!(outcome.attempt(), Some(1));
        assert_eq!(outcome.key(), Some("order:consume:1001"));
    }
    assert_eq!(shop.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_ttl_counts_from_completion() {
    let shop = Shop::new();
    let slow = async {
        tokio::time::sleep(HOUR / 2).await;
        shop.prepare().await
    };
    shop.call().run(slow).await.unwrap();
    tokio::time::advance(Duration::from_mins(59)).await;
    assert_eq!(shop.call().run(shop.prepare()).await.unwrap(), 1);
    tokio::time::advance(Duration::from_mins(2)).await;
    assert_eq!(shop.call().run(shop.prepare()).await.unwrap(), 2, "the record has expired");
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_in_progress_is_busy_and_never_a_silent_success() {
    let shop = Shop::new();
    let go = Arc::new(Notify::new());
    let first = tokio::spawn({
        let (shop, go) = (Arc::clone(&shop), Arc::clone(&go));
        async move {
            shop.call()
                .run(async {
                    go.notified().await;
                    shop.prepare().await
                })
                .await
        }
    });
    tokio::task::yield_now().await;
    let (second, outcome) = with_outcome(shop.call().run(shop.prepare())).await;
    let Err(Failure::Idempotency(error)) = second else { panic!("must be busy") };
    assert_eq!(error.kind(), ErrorKind::Busy);
    let hint = error.retry_after().expect("a hint");
    assert!(hint <= Duration::from_secs(1) && hint > Duration::ZERO);
    assert_eq!(outcome.disposition(), Disposition::RetryAfter(hint));
    go.notify_one();
    assert_eq!(first.await.unwrap().unwrap(), 1);
    assert_eq!(shop.call().run(shop.prepare()).await.unwrap(), 1, "the control: after the end it replays");
}

#[tokio::test(start_paused = true)]
async fn a_failed_run_is_released_and_runs_again_at_once() {
    let shop = Shop::new();
    for attempt in 1..=3 {
        let (result, outcome) =
            with_outcome(shop.call().run(async { Err::<u32, _>(Failure::Kitchen("no dough")) })).await;
        assert!(matches!(result, Err(Failure::Kitchen("no dough"))));
        assert_eq!((outcome.kind(), outcome.attempt()), (OutcomeKind::Failed, Some(attempt)));
        assert!(matches!(outcome.disposition(), Disposition::RetryAfter(_)));
    }
    assert_eq!(shop.call().run(shop.prepare()).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn other_arguments_under_the_same_key_are_a_mismatch_in_every_state() {
    let shop = Shop::new();
    let call = |amount: u32| shop.call().fingerprint(&amount);
    call(12).run(shop.prepare()).await.unwrap();
    let refused = call(13).run(shop.prepare()).await.unwrap_err();
    assert_eq!(refused.kind(), Some(ErrorKind::Mismatch));
    assert_eq!(call(12).run(shop.prepare()).await.unwrap(), 1, "the record survives the refusal");
}

#[tokio::test(start_paused = true)]
async fn a_panic_releases_and_goes_on() {
    let shop = Shop::new();
    let task = tokio::spawn({
        let shop = Arc::clone(&shop);
        async move { shop.call().run(async { if true { panic!("burnt") } else { shop.prepare().await } }).await }
    });
    assert!(task.await.unwrap_err().is_panic());
    let (result, outcome) = with_outcome(shop.call().run(shop.prepare())).await;
    assert_eq!((result.unwrap(), outcome.attempt()), (1, Some(2)));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_drops_the_body_first_and_is_released() {
    struct Claimed<'a>(&'a Shop);
    impl Drop for Claimed<'_> {
        fn drop(&mut self) {
            let key = idempotent_runtime::Key::from_text("order:consume:1001");
            let held = futures_lite_poll(self.0, &key);
            assert!(held, "the claim outlives the body");
        }
    }
    fn futures_lite_poll(shop: &Shop, key: &idempotent_runtime::Key) -> bool {
        use idempotent_runtime::store::{ClaimAnswer, ClaimRequest, OnLapse, Retention};
        let request = ClaimRequest {
            token: idempotent_runtime::Token::random(),
            owner: "test",
            fingerprint: None,
            lease: HOUR,
            retention: Retention::For(HOUR),
            held: Retention::For(HOUR),
            on_lapse: OnLapse::TakeOver,
            max_attempts: None,
            supersede: None,
            begun: true,
            fenced: false,
        };
        let mut claim = shop.idempotency.store().claim(key, &request);
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        match claim.as_mut().poll(&mut cx) {
            std::task::Poll::Ready(Ok(answer)) => matches!(answer, ClaimAnswer::InProgress { .. }),
            other => panic!("memory answers at once: {other:?}"),
        }
    }
    let shop = Shop::new();
    {
        let call = shop.call().run(async {
            let _held = Claimed(&shop);
            std::future::pending::<()>().await;
            shop.prepare().await
        });
        let dropped = tokio::time::timeout(Duration::from_secs(1), call).await;
        assert!(dropped.is_err());
    }
    let (result, outcome) = with_outcome(shop.call().run(shop.prepare())).await;
    assert_eq!((result.unwrap(), outcome.attempt()), (1, Some(2)));
}

#[tokio::test(start_paused = true)]
async fn an_unpolled_call_claims_nothing() {
    let shop = Shop::new();
    drop(shop.call().run(shop.prepare()));
    let (_, outcome) = with_outcome(shop.call().run(shop.prepare())).await;
    assert_eq!(outcome.attempt(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_is_renewed_for_as_long_as_it_runs() {
    let shop = Shop::new();
    let first = tokio::spawn({
        let shop = Arc::clone(&shop);
        async move {
            shop.call()
                .lease(Duration::from_secs(3))
                .run(async {
                    tokio::time::sleep(HOUR).await;
                    shop.prepare().await
                })
                .await
        }
    });
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(59)).await;
        let error = shop.call().run(shop.prepare()).await.unwrap_err();
        assert_eq!(error.kind(), Some(ErrorKind::Busy));
    }
    assert_eq!(first.await.unwrap().unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_missing_key_part_is_refused_before_anything_runs() {
    let shop = Shop::new();
    let call = shop.idempotency.call("order:consume").key(1001).key(None::<u32>).ttl(HOUR);
    let (result, outcome) = with_outcome(call.run(shop.prepare())).await;
    let Err(Failure::Idempotency(error)) = result else { panic!("must be refused") };
    assert_eq!(error.kind(), ErrorKind::MissingKeyPart);
    assert!(error.to_string().contains("key part 2"), "{error}");
    assert_eq!(outcome.disposition(), Disposition::DeadLetter);
    assert_eq!(shop.ran(), 0);
}

#[tokio::test(start_paused = true)]
async fn falsy_results_are_results() {
    async fn replayed<T>(idempotency: &Idempotency, name: &str, value: T) -> T
    where
        T: Clone + serde::Serialize + serde::de::DeserializeOwned,
    {
        let call = || idempotency.call("falsy").key(name).ttl(HOUR);
        call().run(async { Ok::<_, Error>(value.clone()) }).await.unwrap();
        call().run(async { panic!("must not run again") as Result<T, Error> }).await.unwrap()
    }
    let idempotency = Idempotency::memory();
    assert_eq!(replayed(&idempotency, "zero", 0).await, 0);
    assert!(!replayed(&idempotency, "false", false).await);
    assert_eq!(replayed(&idempotency, "empty", String::new()).await, "");
    assert_eq!(replayed(&idempotency, "list", Vec::<u8>::new()).await, Vec::<u8>::new());
    assert_eq!(replayed(&idempotency, "none", None::<u8>).await, None);
    replayed(&idempotency, "unit", ()).await;
}

#[tokio::test(start_paused = true)]
async fn a_result_that_cannot_be_recorded_reaches_the_caller_and_never_runs_again() {
    #[derive(Debug, serde::Deserialize)]
    struct Stubborn;
    impl serde::Serialize for Stubborn {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("will not"))
        }
    }
    let shop = Shop::new();
    let (result, outcome) = with_outcome(shop.call().run(async { Ok::<_, Error>(Stubborn) })).await;
    assert!(result.is_ok());
    assert_eq!(outcome.kind(), OutcomeKind::Executed);
    let (duplicate, outcome) = with_outcome(shop.call().run(async { Ok::<_, Error>(Stubborn) })).await;
    assert_eq!(duplicate.unwrap_err().kind(), ErrorKind::ResultUnavailable);
    assert_eq!(outcome.disposition(), Disposition::Ack);
}

#[tokio::test(start_paused = true)]
async fn a_result_of_another_type_is_unreadable_and_never_runs_again() {
    let shop = Shop::new();
    shop.call().run(async { Ok::<_, Error>("text".to_owned()) }).await.unwrap();
    let (changed, outcome) = with_outcome(shop.call().run(shop.prepare())).await;
    assert_eq!(changed.unwrap_err().kind(), Some(ErrorKind::Unreadable));
    assert_eq!((outcome.disposition(), shop.ran()), (Disposition::DeadLetter, 0));
    let control = shop.call().run(async { Ok::<_, Error>(String::new()) }).await;
    assert_eq!(control.unwrap(), "text");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_calls_another_has_two_records() {
    let shop = Shop::new();
    let inner = || {
        shop.idempotency
            .call("inner")
            .key(1001)
            .ttl(HOUR)
            .run(async { Ok::<_, Failure>(current().unwrap().key().to_string()) })
    };
    let outer = shop.call().run(async {
        let own = current().unwrap().key().to_string();
        let inner = inner().await?;
        assert_eq!(current().unwrap().key().as_str(), own, "back outside");
        Ok::<_, Failure>((own, inner))
    });
    let ((outer, inner), outcome) = {
        let (result, outcome) = with_outcome(outer).await;
        (result.unwrap(), outcome)
    };
    assert_eq!((outer.as_str(), inner.as_str()), ("order:consume:1001", "inner:1001"));
    assert_eq!(outcome.key(), Some("order:consume:1001"), "the outermost is heard");
}

#[tokio::test(start_paused = true)]
async fn the_same_task_is_busy_for_its_own_key() {
    let shop = Shop::new();
    let result = shop.call().run(async { shop.call().run(shop.prepare()).await }).await;
    assert_eq!(result.unwrap_err().kind(), Some(ErrorKind::Busy));
}

#[tokio::test]
async fn nothing_installed_is_an_error_that_says_so() {
    use idempotent_runtime::Via;
    let error = idempotent_runtime::__private::Ambient.idempotency().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotInstalled);
    assert!(error.to_string().contains("install()"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_disabled_runtime_runs_every_time() {
    let shop = Shop { idempotency: Idempotency::disabled(), runs: AtomicU32::new(0) };
    for n in 1..=2 {
        let (result, outcome) = with_outcome(shop.call().run(shop.prepare())).await;
        assert_eq!(result.unwrap(), n);
        assert_eq!(outcome.kind(), OutcomeKind::Unguarded { ok: true });
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_live_calls() {
    let shop = Shop::new();
    let call = tokio::spawn({
        let shop = Arc::clone(&shop);
        async move {
            shop.call()
                .run(async {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    shop.prepare().await
                })
                .await
        }
    });
    tokio::task::yield_now().await;
    assert_eq!(shop.idempotency.shutdown(Duration::from_secs(1)).await, Err(1));
    assert_eq!(shop.idempotency.shutdown(Duration::from_secs(10)).await, Ok(()));
    assert_eq!(call.await.unwrap().unwrap(), 1);
}
