//! `step`: an entity that is made step by step, in memory and in Redis.

use std::time::Duration;

use idempotent_runtime::admin::{Decision, State};
use idempotent_runtime::{
    Error, ErrorKind, Idempotency, MemoryStore, OnError, Replies, Token, current, idempotent, with_outcome,
};
use servers::{Redis, RedisBinary};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

const DAY: Duration = Duration::from_hours(24);

/// Tries something on each store; every time with a new order.
async fn on_each(test: impl AsyncFn(&Idempotency, &str)) {
    test(&Idempotency::memory(), "1001").await;
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let idempotency = Idempotency::connect(&redis.url()).await.expect("the server was started for this");
    test(&idempotency, "1001").await;
}

#[idempotent(prefix = "order:init", keys = [order], step = "init_token", ttl = 24h)]
async fn init_token(order: &str, proposed: &str) -> Result<String, Error> {
    Ok(proposed.to_owned())
}

#[idempotent(prefix = "order:init", keys = [order], step = "payment_status", ttl = 24h)]
async fn payment_status(order: &str) -> Result<Option<String>, Error> {
    current().expect("inside a claim").step("init_token").await
}

#[tokio::test]
async fn each_step_runs_once_and_reads_the_ones_before() {
    on_each(async |idempotency, order| {
        idempotency
            .scope(async {
                assert_eq!(init_token(order, "t-1").await.unwrap(), "t-1");
                let (token, outcome) = with_outcome(init_token(order, "t-2")).await;
                assert_eq!(token.unwrap(), "t-1", "the token first written");
                assert_eq!(outcome.key(), Some("order:init:1001[init_token]"));
                assert_eq!(payment_status(order).await.unwrap().as_deref(), Some("t-1"));
                assert_eq!(init_token("1002", "t-3").await.unwrap(), "t-3", "another entity");
            })
            .await;
    })
    .await;
}

#[tokio::test]
async fn the_functional_form_and_the_attribute_mean_the_same_step() {
    on_each(async |idempotency, order| {
        assert_eq!(idempotency.scope(init_token(order, "t-1")).await.unwrap(), "t-1");
        let call = idempotency.call("order:init").key(order).step("init_token").ttl(DAY);
        assert_eq!(call.run(async { Ok::<_, Error>("t-2".to_owned()) }).await.unwrap(), "t-1");
    })
    .await;
}

/// Reads a step from inside another one.
async fn read(idempotency: &Idempotency, order: &str, step: &str) -> Result<Option<String>, Error> {
    let reader = format!("reader.{}", Token::random());
    let call = idempotency.call("order:init").key(order).step(&reader).ttl(DAY);
    call.run(async { current().expect("inside a claim").step(step).await }).await
}

#[tokio::test]
async fn a_step_that_is_not_completed_has_recorded_nothing() {
    on_each(async |idempotency, order| {
        let step = |name| idempotency.call("order:init").key(order).step(name).ttl(DAY);
        assert_eq!(read(idempotency, order, "never").await.unwrap(), None);
        let failed = step("failed").run(async { Err::<String, BoxError>("declined".into()) });
        assert!(failed.await.is_err());
        assert_eq!(read(idempotency, order, "failed").await.unwrap(), None);
        let running = step("running").run(async { read(idempotency, order, "running").await });
        assert_eq!(running.await.unwrap(), None, "in progress");
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error() {
    on_each(async |idempotency, order| {
        let step = |name| idempotency.call("order:init").key(order).step(name).ttl(DAY);
        let kind = async |name| read(idempotency, order, name).await.expect_err("an error").kind();

        step("number").run(async { Ok::<_, Error>(7) }).await.unwrap();
        assert_eq!(kind("number").await, ErrorKind::Unreadable);
        step("unrecorded").run_with(Replies::rejected(), async { Ok::<_, Error>(7) }).await.unwrap();
        assert_eq!(kind("unrecorded").await, ErrorKind::ResultUnavailable);
        assert_eq!(kind("no name").await, ErrorKind::Configuration);

        let error = read(idempotency, order, "number").await.unwrap_err();
        assert_eq!(error.record_key(), Some("order:init:1001[number]"));
    })
    .await;
}

#[tokio::test]
async fn a_call_without_a_step_has_no_other_steps() {
    on_each(async |idempotency, order| {
        let call = idempotency.call("order:consume").key(order).ttl(DAY);
        let answer = call.run(async { current().unwrap().step::<String>("init_token").await });
        assert_eq!(answer.await.unwrap_err().kind(), ErrorKind::Configuration);
    })
    .await;
}

#[tokio::test]
async fn a_step_without_a_good_name_does_not_run() {
    for wrong in ["", "init token", "init]"] {
        let call = Idempotency::memory().call("order:init").key(1).step(wrong).ttl(DAY);
        let answer = call.run(async { Ok::<_, Error>(()) }).await;
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::Configuration, "{wrong}");
    }
}

#[tokio::test]
async fn a_person_can_decide_about_a_step() {
    on_each(async |idempotency, order| {
        let decision = Decision { who: "ada", why: "looked it up" };
        let key = idempotency.key("order:init", &[&order]).unwrap().with_step("init_token").unwrap();
        let seen = async || idempotency.inspect(&key).await.unwrap().expect("a record");
        assert!(idempotency.inspect(&key).await.unwrap().is_none());
        idempotency
            .scope(async {
                init_token(order, "t-1").await.unwrap();
                assert!(matches!(seen().await.state, State::Completed(_)));

                idempotency.release(&key, &seen().await, decision).await.unwrap();
                assert!(matches!(seen().await.state, State::Failed { last_error } if &*last_error == "looked it up"));
                idempotency.resolve(&key, &seen().await, &"t-9", DAY, decision).await.unwrap();
                assert_eq!(init_token(order, "t-2").await.unwrap(), "t-9");

                idempotency.release(&key, &seen().await, decision).await.unwrap();
                let before = seen().await;
                idempotency.allow_one_more(&key, &before, decision).await.unwrap();
                assert_eq!(seen().await.attempt, before.attempt - 1);
                let moved = idempotency.release(&key, &before, decision).await.unwrap_err();
                assert_eq!(moved.kind(), ErrorKind::Mismatch, "it is not as it was seen");
                assert_eq!(init_token(order, "t-3").await.unwrap(), "t-3");
            })
            .await;
    })
    .await;
}

#[tokio::test]
async fn a_failure_that_was_recorded_is_an_error_to_later_steps() {
    on_each(async |idempotency, order| {
        let call = idempotency.call("order:init").key(order).step("judged").ttl(DAY);
        let judged = Replies::recorded().errors_judged(|_| OnError::Reject("declined".into()));
        assert!(call.run_with(judged, async { Err::<String, BoxError>("declined".into()) }).await.is_err());
        let error = read(idempotency, order, "judged").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        assert!(error.to_string().contains("declined"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn the_steps_of_a_hidden_entity_stay_together() {
    let idempotency = Idempotency::builder().secret([7; 32]).build(MemoryStore::new()).unwrap();
    let key = idempotency.hidden_key("welcome", &[&"Ada"]).unwrap();
    let step = |name| idempotency.call("welcome").key("Ada").hidden().step(name).ttl(DAY);
    step("greeted").run(async { Ok::<_, Error>(1) }).await.unwrap();
    let greeted = step("thanked").run(async { current().unwrap().step::<i32>("greeted").await }).await.unwrap();
    assert_eq!(greeted, Some(1));
    assert!(idempotency.inspect(&key.with_step("thanked").unwrap()).await.unwrap().is_some());
    assert!(idempotency.inspect(&key).await.unwrap().is_none());
}
