//! The layer on live traffic: in shadow, where every request runs; what each response says of itself; and a request that
//! somebody resolves.

use std::time::Duration;

use axum::http::{Method, Response, StatusCode};
use idempotent_runtime::admin::Decision;
use idempotent_runtime::http::{Problem, ServerErrors};
use idempotent_runtime::{Idempotency, MemoryStore, Outcome, OutcomeKind};
use serde_json::json;
use tower::ServiceExt as _;

use crate::support::{Ask, Runs, answering, payments, scoped};

/// What a guard refuses once `Ask::pay("k")` has run, and how.
fn refused() -> [(Ask, Problem); 5] {
    [
        (Ask::new(Method::POST, "/payments"), Problem::KeyMissing),
        (Ask::new(Method::POST, "/payments").key("\"k"), Problem::KeyInvalid),
        (Ask::pay("l").without("authorization"), Problem::ScopeMissing),
        (Ask::pay("l").body("x".repeat(101)), Problem::BodyTooLarge),
        (Ask::pay("k").body("{}"), Problem::KeyReused),
    ]
}

#[tokio::test]
async fn in_shadow_every_request_runs() {
    let shadow = Idempotency::shadow().build(MemoryStore::new()).unwrap();
    for (idempotency, guards) in [(shadow, false), (Idempotency::memory(), true)] {
        let runs = Runs::default();
        let layer = scoped(&idempotency).required().request_limit(100).build().unwrap();
        let router = payments(&runs).layer(layer);
        assert_eq!(Ask::pay("k").to(&router).await.status, 201);
        let again = Ask::pay("k").to(&router).await;
        assert_eq!((again.status, again.is_replay(), runs.count()), (201, guards, if guards { 1 } else { 2 }));
        for (ask, problem) in refused() {
            let (before, answer) = (runs.count(), ask.to(&router).await);
            if guards {
                assert_eq!((&*answer.problem(), runs.count()), (problem.name(), before), "the control");
            } else {
                assert_eq!((answer.status, runs.count()), (201, before + 1), "{problem:?}");
            }
        }
    }
}

#[tokio::test]
async fn each_response_says_what_it_came_to() {
    let runs = Runs::default();
    let layer = scoped(&Idempotency::memory()).required().request_limit(100).build().unwrap();
    let router = payments(&runs).layer(layer);
    for kind in [OutcomeKind::Executed, OutcomeKind::Replayed] {
        let Ok(response) = router.clone().oneshot(Ask::pay("k").request()).await;
        let outcome = response.extensions().get::<Outcome>().expect("an outcome");
        assert_eq!(outcome.kind(), kind);
        assert!(response.extensions().get::<Problem>().is_none());
    }
    for (ask, problem) in refused() {
        let Ok(response) = router.clone().oneshot(ask.request()).await;
        assert_eq!(response.extensions().get::<Problem>(), Some(&problem));
        // An outcome is of what the guard has decided.
        let guarded = problem == Problem::KeyReused;
        assert_eq!(response.extensions().get::<Outcome>().is_some(), guarded, "{problem:?}");
    }
}

#[tokio::test]
async fn a_request_that_stopped_half_way_is_resolved_with_its_response() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let layer = scoped(&idempotency).server_errors(ServerErrors::Hold).build().unwrap();
    let router = answering(&runs, |_| StatusCode::BAD_GATEWAY).layer(layer.clone());
    let response =
        Response::builder().status(201).header("content-type", "application/json").header("set-cookie", "s=1");
    let recorded = layer.recorded(response.body(r#"{"id":7}"#).unwrap());
    // What people write, on the command line or on the page.
    let written = json!({"http": 1, "status": 201, "headers": [["content-type", "application/json"]], "body": {"text": "{\"id\":7}"}});
    assert_eq!(serde_json::to_value(&recorded).unwrap(), written);
    for (key, by_hand) in [("k", false), ("l", true)] {
        assert_eq!(Ask::pay(key).to(&router).await.status, 502);
        assert_eq!(Ask::pay(key).to(&router).await.problem(), "outcome-unknown");
        let record = layer.record_key(&Method::POST, "/payments", Some("Bearer ada"), key).unwrap();
        let seen = idempotency.inspect(&record).await.unwrap().unwrap();
        let (decision, ttl) = (Decision { who: "grace", why: "the bank has it" }, Duration::from_hours(1));
        if by_hand {
            idempotency.resolve(&record, &seen, &written, ttl, decision).await.unwrap();
        } else {
            idempotency.resolve(&record, &seen, &recorded, ttl, decision).await.unwrap();
        }
        let answer = Ask::pay(key).to(&router).await;
        assert!(answer.is_replay(), "{answer:?}");
        assert_eq!((answer.status, &*answer.body), (201, r#"{"id":7}"#));
        assert_eq!((answer.header("content-type"), answer.header("set-cookie")), (Some("application/json"), None));
    }
    assert_eq!(runs.count(), 2);
}
