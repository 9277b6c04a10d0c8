//! Points 10 to 14: whose request it is, and whether it is the same one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use idempotent_runtime::Idempotency;
use idempotent_runtime::http::FingerprintBy;

use crate::support::{Ask, Runs, Via, both, layer, payments, record, scoped};

both![
    point_10_scope_method_route_and_key_make_the_record,
    point_11_a_request_of_nobody_is_refused,
    point_12_a_revoked_caller_gets_401_and_no_replay,
    point_13_another_request_under_the_same_key_is_told_apart,
    point_14_what_differs_between_a_request_and_its_retry_is_not_compared,
];

async fn point_10_scope_method_route_and_key_make_the_record(via: Via) {
    let runs = Runs::default();
    let shop = via.shop(payments(&runs).layer(layer())).await;
    let first = Ask::pay("k");
    assert_eq!(first.to(&shop).await.status, 201);
    for other in [
        first.clone().of("bob"),
        Ask::new(Method::PATCH, "/payments").key("\"k\""),
        Ask::new(Method::POST, "/payments/7").key("\"k\""),
        Ask::pay("l"),
        // What runs into another scope and key when it is only put together.
        Ask::pay("dak").of("a"),
        Ask::pay("k").of("ada:"),
        Ask::pay(":k").of("ada"),
    ] {
        let answer = other.to(&shop).await;
        assert!(answer.status == 201 && !answer.is_replay(), "{other:?}: {answer:?}");
    }
    assert_eq!(runs.count(), 8);
    // One route is one operation: the same key on another of its paths was used for something else.
    let elsewhere = Ask::new(Method::POST, "/payments/8").key("\"k\"").to(&shop).await;
    assert_eq!((elsewhere.status, &*elsewhere.problem(), runs.count()), (422, "key-reused", 8));
}

async fn point_11_a_request_of_nobody_is_refused(via: Via) {
    let runs = Runs::default();
    let shop = via.shop(payments(&runs).layer(layer())).await;
    for nobody in [Ask::pay("k").without("authorization"), Ask::pay("k").header("authorization", "")] {
        let refused = nobody.to(&shop).await;
        assert_eq!((refused.status, &*refused.problem(), runs.count()), (403, "scope-missing", 0));
    }
    assert_eq!(Ask::pay("k").to(&shop).await.status, 201, "the control");
    // That it does not compile without a scope is an example in the documentation of `LayerBuilder`.
}

async fn point_12_a_revoked_caller_gets_401_and_no_replay(via: Via) {
    let (runs, revoked) = (Runs::default(), Arc::new(AtomicBool::new(false)));
    let is_revoked = Arc::clone(&revoked);
    let authenticate = move |request: Request, next: Next| {
        let refused = is_revoked.load(Ordering::SeqCst);
        async move { if refused { Err(StatusCode::UNAUTHORIZED) } else { Ok(next.run(request).await) } }
    };
    // Layers that are added later stand further out, and run first.
    let shop = via.shop(payments(&runs).layer(layer()).layer(middleware::from_fn(authenticate))).await;
    assert_eq!(Ask::pay("k").to(&shop).await.status, 201);
    assert!(Ask::pay("k").to(&shop).await.is_replay());
    revoked.store(true, Ordering::SeqCst);
    let refused = Ask::pay("k").to(&shop).await;
    assert_eq!((refused.status, refused.is_replay(), refused.body.as_str()), (401, false, ""));
}

async fn point_13_another_request_under_the_same_key_is_told_apart(via: Via) {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let layer = scoped(&idempotency).build().unwrap();
    let shop = via.shop(payments(&runs).layer(layer.clone())).await;
    assert_eq!(Ask::pay("k").to(&shop).await.status, 201);
    for other in [
        Ask::pay("k").body(r#"{"amount_minor":1300}"#),
        Ask::pay("k").body(r#"{"amount_minor": 1200}"#),
        Ask::pay("k").header("content-type", "text/plain"),
        Ask::new(Method::POST, "/payments?dry_run=1").key("\"k\""),
    ] {
        assert_eq!(other.to(&shop).await.problem(), "key-reused", "{other:?}");
    }
    assert!(Ask::pay("k").to(&shop).await.is_replay(), "the control");
    let record = record(&idempotency, &layer, "k").await.expect("a record");
    let fingerprint = record.fingerprint.expect("a fingerprint").text();
    assert!(fingerprint.starts_with("1."), "its version stands in front: {fingerprint}");

    for (by, same, other) in [
        (FingerprintBy::json(), r#"{ "amount_minor": 1200 }"#, r#"{"amount_minor":1201}"#),
        (FingerprintBy::fields(["/amount_minor"]), r#"{"amount_minor":1200,"at":"12:01"}"#, r#"{"at":"12:00"}"#),
    ] {
        let shop =
            via.shop(payments(&runs).layer(scoped(&Idempotency::memory()).fingerprint(by).build().unwrap())).await;
        assert_eq!(Ask::pay("k").to(&shop).await.status, 201);
        assert!(Ask::pay("k").body(same).to(&shop).await.is_replay(), "{same}");
        assert_eq!(Ask::pay("k").body(other).to(&shop).await.status, 422, "{other}");
    }
}

async fn point_14_what_differs_between_a_request_and_its_retry_is_not_compared(via: Via) {
    let runs = Runs::default();
    let shop = via.shop(payments(&runs).layer(layer())).await;
    assert_eq!(Ask::pay("k").header("traceparent", "00-1-1-01").to(&shop).await.status, 201);
    for (name, value) in [
        ("traceparent", "00-2-2-01"),
        ("x-request-id", "2"),
        ("date", "Tue, 15 Nov 1994 08:12:31 GMT"),
        ("user-agent", "curl/8"),
        ("accept", "*/*"),
    ] {
        assert!(Ask::pay("k").header(name, value).to(&shop).await.is_replay(), "{name}");
    }
    assert_eq!(runs.count(), 1);
}
