//! Points 15 to 23: what a request is answered with.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Request};
use axum::http::{HeaderName, Method, StatusCode};
use axum::response::{AppendHeaders, IntoResponse};
use futures_util::future::join_all;
use idempotent_runtime::http::{IdempotencyLayer, Problem};
use idempotent_runtime::testing::Gate;
use idempotent_runtime::{Error, Idempotency, OnBusy};
use serde_json::json;
use tower::ServiceBuilder;

use crate::support::{Answer, Ask, Runs, answering, layer, payments, record, scoped, serve};

/// A router whose handler waits at a gate.
fn gated(runs: &Runs, gate: &Gate, layer: IdempotencyLayer) -> axum::Router {
    let (runs, gate) = (runs.clone(), gate.clone());
    let pay = move || async move {
        let run = runs.run();
        gate.pass().await;
        (StatusCode::CREATED, Json(json!({ "run": run })))
    };
    axum::Router::new().route("/payments", axum::routing::post(pay)).layer(layer)
}

#[tokio::test]
async fn point_15_the_first_request_runs() {
    let runs = Runs::default();
    let first = Ask::pay("k").to(&payments(&runs).layer(layer())).await;
    assert_eq!((first.status, first.body.as_str(), first.is_replay()), (201, r#"{"run":1}"#, false));
    assert_eq!((first.header("location"), runs.count()), (Some("/payments/1"), 1));
}

#[tokio::test]
async fn point_16_a_retry_gets_the_same_response_marked() {
    let respond = |run: u32| {
        let headers = AppendHeaders([("location", "/1"), ("warning", "a"), ("warning", "b"), ("x-run", "1")]);
        (StatusCode::ACCEPTED, headers, [&run.to_be_bytes()[..], &[0xff, 0, 13, 10]].concat())
    };
    let named = scoped(&Idempotency::memory()).marker(HeaderName::from_static("x-again")).build().unwrap();
    for (layer, marker) in [(layer(), "idempotent-replayed"), (named, "x-again")] {
        let runs = Runs::default();
        let router = answering(&runs, respond).layer(layer);
        let (first, mut second) = (Ask::pay("k").to(&router).await, Ask::pay("k").to(&router).await);
        assert_eq!(first.header(marker), None);
        assert_eq!(second.headers.remove(marker).unwrap(), "true");
        assert_eq!(first, second, "status, every other header and the body are the same");
        assert_eq!(second.headers.get_all("warning").iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((second.status, runs.count()), (202, 1));
    }
}

#[tokio::test]
async fn point_17_another_request_under_the_key_is_refused_also_in_flight() {
    let (runs, gate) = (Runs::default(), Gate::new("paying"));
    let router = gated(&runs, &gate, layer());
    let other = Ask::pay("k").body(r#"{"amount_minor":1}"#);
    let first = tokio::spawn({
        let router = router.clone();
        async move { Ask::pay("k").to(&router).await }
    });
    gate.reached().await;
    assert_eq!(other.to(&router).await.problem(), "key-reused", "in flight");
    gate.open();
    assert_eq!(first.await.unwrap().status, 201, "the first one does not notice");
    let refused = other.to(&router).await;
    assert_eq!((refused.status, &*refused.problem(), runs.count()), (422, "key-reused", 1), "completed");
}

#[tokio::test]
async fn point_18_a_retry_in_flight_is_told_to_come_back_or_waits() {
    let (runs, gate) = (Runs::default(), Gate::new("paying"));
    let router = gated(&runs, &gate, layer());
    let send = |router: &axum::Router| {
        let router = router.clone();
        tokio::spawn(async move { Ask::pay("k").to(&router).await })
    };
    let first = send(&router);
    gate.reached().await;
    let busy = Ask::pay("k").to(&router).await;
    assert_eq!((busy.status, &*busy.problem(), busy.header("retry-after")), (409, "in-flight", Some("1")));
    gate.open();
    assert_eq!(first.await.unwrap().status, 201);
    assert!(Ask::pay("k").to(&router).await.is_replay());
    assert_eq!(runs.count(), 1);

    // The same, with a wait, whatever its bound.
    for patience in [Duration::from_mins(1), Duration::MAX] {
        let (runs, gate) = (Runs::default(), Gate::new("paying"));
        let waits = scoped(&Idempotency::memory()).on_busy(OnBusy::Wait(patience)).build().unwrap();
        let router = gated(&runs, &gate, waits);
        let first = send(&router);
        gate.reached().await;
        let second = send(&router);
        tokio::task::yield_now().await;
        gate.open();
        assert_eq!(first.await.unwrap().status, 201);
        let second = second.await.unwrap();
        assert_eq!((second.status, second.is_replay(), runs.count()), (201, true, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn point_18_a_bounded_wait_ends() {
    let (runs, gate) = (Runs::default(), Gate::new("paying"));
    let waits = scoped(&Idempotency::memory()).on_busy(OnBusy::Wait(Duration::from_secs(5))).build().unwrap();
    let router = gated(&runs, &gate, waits);
    let first = tokio::spawn({
        let router = router.clone();
        async move { Ask::pay("k").to(&router).await }
    });
    gate.reached().await;
    let before = tokio::time::Instant::now();
    assert_eq!(Ask::pay("k").to(&router).await.problem(), "in-flight");
    assert_eq!(before.elapsed().as_secs(), 5);
    gate.open();
    assert_eq!(first.await.unwrap().status, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_19_a_hundred_duplicates_at_one_time_run_once() {
    let runs = Runs::default();
    let waits = scoped(&Idempotency::memory()).on_busy(OnBusy::Wait(Duration::from_mins(1))).build().unwrap();
    let address = serve(payments(&runs).layer(waits)).await;
    let client = reqwest::Client::new();
    let answers = join_all((0..100).map(|_| async {
        let request = client.post(format!("http://{address}/payments")).header("authorization", "Bearer ada");
        let request = request.header("idempotency-key", "\"k\"").body("{}");
        Answer::of_reqwest(request.send().await.expect("an answer")).await
    }))
    .await;
    assert_eq!(runs.count(), 1);
    assert!(answers.iter().all(|answer| answer.status == 201 && answer.body == r#"{"run":1}"#), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| !answer.is_replay()).count(), 1);
}

#[tokio::test]
async fn point_20_every_error_is_a_problem_of_a_stable_type_that_tells_nothing_stored() {
    let runs = Runs::default();
    let secret = |_| (StatusCode::CREATED, [("x-secret", "hidden-header")], "hidden-body");
    let builder = scoped(&Idempotency::memory()).required().request_limit(64);
    let router = answering(&runs, secret).layer(builder.build().unwrap());
    assert_eq!(Ask::pay("hidden-key").to(&router).await.status, 201);
    for (ask, problem) in [
        (Ask::new(Method::POST, "/payments"), "key-missing"),
        (Ask::new(Method::POST, "/payments").key("\"hidden-key"), "key-invalid"),
        (Ask::pay("hidden-key").without("authorization"), "scope-missing"),
        (Ask::pay("hidden-key").body("x".repeat(65)), "body-too-large"),
        (Ask::pay("hidden-key").body("other"), "key-reused"),
    ] {
        let answer = ask.to(&router).await;
        assert_eq!(answer.problem(), problem);
        assert_eq!(answer.header("content-language"), Some("en"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let whole = format!("{answer:?}");
        assert!(!whole.contains("hidden"), "{whole}");
    }

    // The types are names that never change: a client compares them.
    let names = Problem::ALL.map(Problem::name);
    assert_eq!(
        names,
        [
            "key-missing",
            "key-invalid",
            "key-part-missing",
            "key-reused",
            "in-flight",
            "scope-missing",
            "body-too-large",
            "body-unreadable",
            "response-not-stored",
            "outcome-unknown",
            "attempts-exhausted",
            "failed",
            "record-unreadable",
            "store-unavailable",
            "overloaded",
            "timed-out",
            "misconfigured"
        ]
    );
    let own = scoped(&Idempotency::memory()).required().documentation("https://api.example.com/idempotency");
    let answer = Ask::new(Method::POST, "/payments").to(&payments(&runs).layer(own.build().unwrap())).await;
    assert!(answer.body.contains("https://api.example.com/idempotency#key-missing"), "{answer:?}");
    for wrong in ["", "a b", "https://example.com/#here", "https://example.com/>"] {
        assert!(scoped(&Idempotency::memory()).documentation(wrong).build().is_err(), "{wrong:?}");
    }
}

#[tokio::test]
async fn point_21_statuses_can_be_chosen() {
    let (runs, gate) = (Runs::default(), Gate::new("paying"));
    let builder = scoped(&Idempotency::memory()).required();
    let builder =
        builder.status(Problem::InFlight, StatusCode::LOCKED).status(Problem::KeyReused, StatusCode::CONFLICT);
    let router = gated(&runs, &gate, builder.status(Problem::KeyMissing, StatusCode::FORBIDDEN).build().unwrap());
    let first = tokio::spawn({
        let router = router.clone();
        async move { Ask::pay("k").to(&router).await }
    });
    gate.reached().await;
    for (ask, status, problem) in [
        (Ask::pay("k"), 423, "in-flight"),
        (Ask::pay("k").body("other"), 409, "key-reused"),
        (Ask::new(Method::POST, "/payments"), 403, "key-missing"),
    ] {
        let answer = ask.to(&router).await;
        assert_eq!((answer.status, &*answer.problem()), (status, problem));
    }
    gate.open();
    assert_eq!(first.await.unwrap().status, 201);
}

#[tokio::test]
async fn point_22_what_the_layer_answers_is_never_stored() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let layer = scoped(&idempotency).request_limit(100).build().unwrap();
    let router = payments(&runs).layer(layer.clone());
    assert_eq!(Ask::pay("k").body("x".repeat(101)).to(&router).await.status, 413);
    assert_eq!(record(&idempotency, &layer, "k").await, None);
    assert_eq!(Ask::pay("k").to(&router).await.status, 201);
    assert_eq!(Ask::pay("k").body("other").to(&router).await.status, 422);
    assert!(Ask::pay("k").to(&router).await.is_replay(), "the refusal in between has changed nothing");

    // Nor does a layer further out store what one further in has answered.
    let inner = layer.clone();
    let outer = scoped(&idempotency).prefix("outer").methods([Method::PUT, Method::POST]).build().unwrap();
    let put = scoped(&idempotency).required().header(HeaderName::from_static("x-key")).build().unwrap();
    for (inner, ask, problem) in
        [(put, Ask::pay("m"), "key-missing"), (inner, Ask::pay("n").body("x".repeat(101)), "body-too-large")]
    {
        // The one further in does not know that it is guarded already: a service in between has made the request anew.
        let anew = |request: Request| {
            let (parts, body) = request.into_parts();
            let mut request = Request::new(body);
            (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) =
                (parts.method, parts.uri, parts.headers);
            request
        };
        let layers = ServiceBuilder::new().layer(outer.clone()).map_request(anew).layer(inner);
        let router = payments(&runs).layer(layers);
        for _ in 0..2 {
            let answer = ask.to(&router).await;
            assert_eq!((&*answer.problem(), answer.is_replay()), (problem, false));
        }
    }
}

/// What an annotated function comes to inside a handler, as the handler's response.
async fn function(state: &str) -> Result<u32, Error> {
    let idempotency = Idempotency::memory();
    let call = |amount: u32| {
        let call = idempotency.call("charge").key(7).fingerprint(&amount).ttl(Duration::from_mins(1));
        call.run(async move { Ok::<_, Error>(7) })
    };
    match state {
        "reused" => {
            call(1).await?;
            call(2).await
        }
        "in flight" => {
            let gate = Gate::new("charging");
            let at = gate.clone();
            let running = idempotency.call("charge").key(8).ttl(Duration::from_mins(1));
            let running = tokio::spawn(running.run(async move {
                at.pass().await;
                Ok::<_, Error>(7)
            }));
            gate.reached().await;
            let busy = idempotency.call("charge").key(8).ttl(Duration::from_mins(1)).run(async { Ok(7) }).await;
            gate.open();
            drop(running.await);
            busy
        }
        _ => idempotency.call("charge").key("").ttl(Duration::from_mins(1)).run(async { Ok(7) }).await,
    }
}

/// A router whose handler answers with what [`function`] comes to.
fn functions(layer: IdempotencyLayer) -> axum::Router {
    let respond = async |Path(state): Path<String>| function(&state).await.map(|charged| charged.to_string());
    axum::Router::new().route("/functions/{state}", axum::routing::any(respond)).layer(layer)
}

#[tokio::test]
async fn point_22_an_error_as_a_response_is_told_by_the_layer_and_not_stored() {
    let layer = scoped(&Idempotency::memory()).build().unwrap();
    let own =
        scoped(&Idempotency::memory()).documentation("/idempotency").status(Problem::InFlight, StatusCode::LOCKED);
    let own = own.build().unwrap();
    for (layer, documentation, busy) in [(layer, "https://docs.rs/", 409), (own, "/idempotency#", 423)] {
        let router = functions(layer);
        for (state, status, problem, after) in [
            ("reused", 422, "key-reused", None),
            ("in%20flight", busy, "in-flight", Some("1")),
            ("keyless", 400, "key-part-missing", None),
        ] {
            let path = format!("/functions/{state}");
            let with = Ask::new(Method::POST, &path).key("\"k\"");
            // Without a key, and with a method that is not guarded, it is told so too.
            let asks = [with.clone(), with, Ask::new(Method::POST, &path), Ask::new(Method::GET, &path)];
            for ask in asks {
                let answer = ask.to(&router).await;
                assert_eq!((answer.status, &*answer.problem(), answer.is_replay()), (status, problem, false));
                assert_eq!(answer.header("retry-after"), after);
                assert!(answer.header("link").unwrap().starts_with(&format!("<{documentation}")), "{answer:?}");
                assert!(!answer.body.contains("idempotency key"), "the client has made no such key: {answer:?}");
            }
        }
    }
}

#[tokio::test]
async fn point_23_responses_without_a_body_are_given_again_as_they_were() {
    for status in [204, 205, 304] {
        let runs = Runs::default();
        let respond = move |_| {
            let mut response = (StatusCode::from_u16(status).unwrap(), [("etag", "\"v1\"")]).into_response();
            *response.body_mut() = Body::empty();
            response
        };
        let address = serve(answering(&runs, respond).layer(layer())).await;
        let mut answers = Vec::new();
        for _ in 0..2 {
            let request = reqwest::Client::new().post(format!("http://{address}/payments"));
            let request = request.header("authorization", "Bearer ada").header("idempotency-key", "\"k\"");
            answers.push(Answer::of_reqwest(request.send().await.expect("an answer")).await);
        }
        let [first, second] = &answers[..] else { unreachable!() };
        assert_eq!((first.status, second.status, runs.count()), (status, status, 1));
        assert!(second.is_replay() && second.body.is_empty());
        for name in ["content-length", "etag", "transfer-encoding"] {
            assert_eq!(first.header(name), second.header(name), "{status} {name}");
        }
    }
    // HEAD is safe, and passes; its response has no body, and is stored nowhere.
    let runs = Runs::default();
    let address = serve(payments(&runs).layer(layer())).await;
    for _ in 0..2 {
        let request = reqwest::Client::new().head(format!("http://{address}/payments"));
        let request = request.header("authorization", "Bearer ada").header("idempotency-key", "\"k\"");
        let answer = Answer::of_reqwest(request.send().await.expect("an answer")).await;
        assert_eq!((answer.status, answer.is_replay(), answer.body.as_str()), (201, false, ""));
        assert_eq!(answer.header("content-length"), Some("9"));
    }
    assert_eq!(runs.count(), 2);
}
