//! … when a run ends.

use std::fmt::Debug;

use idempotent_runtime::admin::Decision;
use idempotent_runtime::{
    Disposition, Error, ErrorKind, OnCrash, OnError, OutcomeKind, Replies, current, with_outcome,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::calls::Stubborn;
use crate::shop::{Failure, HOUR, Reply, Shop, refused};

pub(crate) async fn a_value_is_recorded_also_a_falsy_one(shop: Shop) {
    async fn replays<T>(shop: &Shop, name: &str, value: T)
    where
        T: Clone + PartialEq + Debug + Serialize + DeserializeOwned,
    {
        let call = || shop.worker.call("falsy").key(name).ttl(HOUR).lease(shop.lease);
        assert_eq!(call().run(async { Ok::<_, Error>(value.clone()) }).await.expect("it runs"), value);
        let again = call().run(async { panic!("it must not run again") as Result<T, Error> }).await;
        assert_eq!(again.expect("it is recorded"), value, "{name}");
    }
    replays(&shop, "zero", 0).await;
    replays(&shop, "false", false).await;
    replays(&shop, "empty", String::new()).await;
    replays(&shop, "list", Vec::<u8>::new()).await;
    replays(&shop, "none", None::<u8>).await;
    replays(&shop, "unit", ()).await;
}

pub(crate) async fn a_value_that_cannot_be_recorded_never_runs_again(shop: Shop) {
    #[derive(serde::Deserialize)]
    struct Odd;
    impl Serialize for Odd {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            Stubborn.serialize(serializer)
        }
    }
    let (result, outcome) = with_outcome(shop.call().run(async { Ok::<_, Failure>(Odd) })).await;
    assert!(result.is_ok());
    assert_eq!(outcome.kind(), OutcomeKind::Executed, "the effect did happen");
    let (result, outcome) = with_outcome(shop.on(&shop.other).run(shop.body())).await;
    assert_eq!((result, outcome.disposition()), (refused(ErrorKind::ResultUnavailable), Disposition::Ack));

    let large = || shop.worker.call("large").key(1001).ttl(HOUR).lease(shop.lease);
    let text = "x".repeat(2 << 20);
    assert_eq!(large().run(async { Ok::<_, Failure>(text.clone()) }).await, Ok(text.clone()));
    assert_eq!(large().run(shop.body()).await, refused(ErrorKind::ResultUnavailable));
    assert_eq!(shop.ran(), 0);
}

pub(crate) async fn an_error_is_released_recorded_or_judged(shop: Shop) {
    let call = |name: &'static str| shop.worker.call(name).key(1001).ttl(HOUR).lease(shop.lease);
    let fails = async || Reply::Err(Failure::Burnt);

    assert_eq!(call("released").run(fails()).await, Err(Failure::Burnt), "the handler's own, unchanged");
    let (result, outcome) = with_outcome(call("released").run(shop.body())).await;
    assert_eq!((result, outcome.attempt()), (Ok(1), Some(2)));

    let recorded = || Replies::recorded().errors_recorded();
    assert_eq!(call("recorded").run_with(recorded(), fails()).await, Err(Failure::Burnt));
    let (result, outcome) = with_outcome(call("recorded").run_with(recorded(), shop.body())).await;
    assert_eq!((result, outcome.kind()), (Err(Failure::Burnt), OutcomeKind::FailedForGood));

    let judged = || Replies::recorded().errors_judged(|_: &Reply| OnError::Reject("burnt".into()));
    assert_eq!(call("judged").run_with(judged(), fails()).await, Err(Failure::Burnt));
    let (result, outcome) = with_outcome(call("judged").run_with(judged(), shop.body())).await;
    assert_eq!((result, outcome.disposition()), (refused(ErrorKind::Failed), Disposition::DeadLetter));
    assert_eq!(shop.ran(), 1);
}

pub(crate) async fn a_run_that_takes_too_long_is_ended(shop: Shop) {
    let hangs = || shop.call().timeout(shop.lease / 10).run(std::future::pending::<Reply>());
    let (result, outcome) = with_outcome(hangs()).await;
    assert_eq!(result, refused(ErrorKind::TimedOut));
    assert!(matches!(outcome.disposition(), Disposition::RetryAfter(_)));
    shop.worker.shutdown(shop.lease).await.expect("it is released in the background");
    let (result, outcome) = with_outcome(shop.call().run(shop.body())).await;
    assert_eq!((result, outcome.attempt()), (Ok(1), Some(2)));
}

pub(crate) async fn a_run_whose_owner_is_gone_is_taken_over_or_held(shop: Shop) {
    shop.claim_and_die(shop.lease).await;
    assert_eq!(shop.duplicate().await, refused(ErrorKind::Busy), "its lease stands");
    shop.pass(shop.lease * 11 / 10).await;
    let held = shop.on(&shop.other).on_crash(OnCrash::Hold).run(shop.body());
    assert_eq!(held.await, refused(ErrorKind::Indeterminate));
    let (result, outcome) = with_outcome(shop.call().run(shop.body())).await;
    assert_eq!((result, outcome.attempt()), (Ok(1), Some(2)), "under rerun it is taken over");
}

pub(crate) async fn attempts_come_to_an_end(shop: Shop) {
    let twice = || shop.call().max_attempts(2);
    let fails = twice().run(async { Reply::Err(Failure::Burnt) });
    assert_eq!(fails.await, Err(Failure::Burnt));
    let hangs = twice().timeout(shop.lease / 10).run(std::future::pending::<Reply>());
    assert_eq!(hangs.await, refused(ErrorKind::TimedOut));
    shop.worker.shutdown(shop.lease).await.expect("it is released in the background");
    let (result, outcome) = with_outcome(twice().run(shop.body())).await;
    assert_eq!((result, outcome.disposition()), (refused(ErrorKind::Exhausted), Disposition::DeadLetter));

    let key = shop.worker.key("order", &[&1001]).expect("a key");
    let seen = shop.worker.inspect(&key).await.expect("an answer").expect("a record");
    let decision = Decision { who: "ada", why: "the oven is mended" };
    shop.worker.allow_one_more(&key, &seen, decision).await.expect("as it was seen");
    assert_eq!(twice().run(shop.body()).await, Ok(1));
}

pub(crate) async fn fences_grow(shop: Shop) {
    let mut last = None;
    for _ in 0..5 {
        let mut fence = None;
        let failed = shop.call().fenced().run(async {
            fence = current().expect("a claim").fence();
            Reply::Err(Failure::Burnt)
        });
        assert_eq!(failed.await, Err(Failure::Burnt));
        assert!(fence > last, "{fence:?} after {last:?}");
        last = fence;
    }
}
