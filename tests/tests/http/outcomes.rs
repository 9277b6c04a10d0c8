//! Points 15 to 23: what a request is answered with.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Path, Request};
use axum::http::{HeaderName, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{AppendHeaders, IntoResponse};
use futures_util::future::join_all;
use idempotent_runtime::admin::Decision;
use idempotent_runtime::http::{IdempotencyLayer, Problem, ServerErrors};
use idempotent_runtime::testing::{Fault, FaultyStore, Gate, Operation};
use idempotent_runtime::{Error, Idempotency, MemoryStore, OnBusy, OnError, idempotent};
use tower::ServiceBuilder;

use crate::support::{Answer, Ask, Runs, Via, answering, both, gated, layer, payments, record, scoped};

both![
    point_20_what_comes_from_a_record_tells_nothing_of_it,
    point_20_what_passes_says_when_to_come_back,
    point_15_the_first_request_runs,
    point_16_a_retry_gets_the_same_response_marked,
    point_17_another_request_under_the_key_is_refused_also_in_flight,
    point_18_a_retry_in_flight_is_told_to_come_back_or_waits,
    point_18_a_bounded_wait_ends,
    point_20_every_error_is_a_problem_of_a_stable_type_that_tells_nothing_stored,
    point_21_statuses_can_be_chosen,
    point_22_what_the_layer_answers_is_never_stored,
    point_22_an_error_as_a_response_is_told_by_the_layer_and_not_stored,
    point_23_responses_without_a_body_are_given_again_as_they_were,
];

async fn point_15_the_first_request_runs(via: Via) {
    let runs = Runs::default();
    let first = Ask::pay("k").to(&via.shop(payments(&runs).layer(layer())).await).await;
    assert_eq!((first.status, first.body.as_str(), first.is_replay()), (201, r#"{"run":1}"#, false));
    assert_eq!((first.header("location"), runs.count()), (Some("/payments/1"), 1));
}

async fn point_16_a_retry_gets_the_same_response_marked(via: Via) {
    let respond = |run: u32| {
        let headers = AppendHeaders([("location", "/1"), ("warning", "a"), ("warning", "b"), ("x-run", "1")]);
        (StatusCode::ACCEPTED, headers, [&run.to_be_bytes()[..], &[0xff, 0, 13, 10]].concat())
    };
    let named = scoped(&Idempotency::memory()).marker(HeaderName::from_static("x-again")).build().unwrap();
    for (layer, marker) in [(layer(), "idempotent-replayed"), (named, "x-again")] {
        let runs = Runs::default();
        let shop = via.shop(answering(&runs, respond).layer(layer)).await;
        let (mut first, mut second) = (Ask::pay("k").to(&shop).await, Ask::pay("k").to(&shop).await);
        assert_eq!(first.header(marker), None);
        assert_eq!(second.headers.remove(marker).unwrap(), "true");
        // A server's own, each response its own.
        let dates = [first.headers.remove("date"), second.headers.remove("date")];
        assert_eq!(dates.iter().flatten().count(), if via == Via::Socket { 2 } else { 0 });
        assert_eq!(first.bytes, &b"\0\0\0\x01\xff\0\r\n"[..]);
        assert_eq!(first, second, "status, every other header and the body are the same");
        assert_eq!(second.headers.get_all("warning").iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((second.status, runs.count()), (202, 1));
    }
}

async fn point_17_another_request_under_the_key_is_refused_also_in_flight(via: Via) {
    let (runs, gate) = (Runs::default(), Gate::new("paying"));
    let shop = via.shop(gated(&runs, &gate, layer())).await;
    let other = Ask::pay("k").body(r#"{"amount_minor":1}"#);
    let first = Ask::pay("k").send(&shop);
    gate.reached().await;
    assert_eq!(other.to(&shop).await.problem(), "key-reused", "in flight");
    gate.open();
    assert_eq!(first.await.unwrap().status, 201, "the first one does not notice");
    let refused = other.to(&shop).await;
    assert_eq!((refused.status, &*refused.problem(), runs.count()), (422, "key-reused", 1), "completed");
}

async fn point_18_a_retry_in_flight_is_told_to_come_back_or_waits(via: Via) {
    let (runs, gate) = (Runs::default(), Gate::new("paying"));
    let shop = via.shop(gated(&runs, &gate, layer())).await;
    let first = Ask::pay("k").send(&shop);
    gate.reached().await;
    let busy = Ask::pay("k").to(&shop).await;
    assert_eq!((busy.status, &*busy.problem(), busy.header("retry-after")), (409, "in-flight", Some("1")));
    gate.open();
    assert_eq!(first.await.unwrap().status, 201);
    assert!(Ask::pay("k").to(&shop).await.is_replay());
    assert_eq!(runs.count(), 1);

    // The same, with a wait, whatever its bound.
    for patience in [Duration::from_mins(1), Duration::MAX] {
        let (runs, gate) = (Runs::default(), Gate::new("paying"));
        let waits = scoped(&Idempotency::memory()).on_busy(OnBusy::Wait(patience)).build().unwrap();
        let shop = via.shop(gated(&runs, &gate, waits)).await;
        let first = Ask::pay("k").send(&shop);
        gate.reached().await;
        let second = Ask::pay("k").send(&shop);
        tokio::task::yield_now().await;
        gate.open();
        assert_eq!(first.await.unwrap().status, 201);
        let second = second.await.unwrap();
        assert_eq!((second.status, second.is_replay(), runs.count()), (201, true, 1));
    }
}

async fn point_18_a_bounded_wait_ends(via: Via) {
    let (runs, gate) = (Runs::default(), Gate::new("paying"));
    let waits = scoped(&Idempotency::memory()).on_busy(OnBusy::Wait(Duration::from_millis(200))).build().unwrap();
    let shop = via.shop(gated(&runs, &gate, waits)).await;
    let first = Ask::pay("k").send(&shop);
    gate.reached().await;
    let before = Instant::now();
    assert_eq!(Ask::pay("k").to(&shop).await.problem(), "in-flight");
    assert!(before.elapsed() >= Duration::from_millis(200), "{:?}", before.elapsed());
    gate.open();
    assert_eq!(first.await.unwrap().status, 201);
}

// On a socket alone: a hundred clients at one time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_19_a_hundred_duplicates_at_one_time_run_once() {
    let (runs, gate, entered) = (Runs::default(), Gate::new("paying"), Gate::new("entered"));
    let waits = scoped(&Idempotency::memory()).on_busy(OnBusy::Wait(Duration::from_mins(1))).build().unwrap();
    entered.open();
    let door = entered.clone();
    let enter = move |request: Request, next: Next| {
        let door = door.clone();
        async move {
            door.pass().await;
            next.run(request).await
        }
    };
    let shop = Via::Socket.shop(gated(&runs, &gate, waits).layer(middleware::from_fn(enter))).await;
    let clients: Vec<_> = (0..100).map(|_| Ask::pay("k").send(&shop)).collect();
    // All are in before the first is done.
    entered.reached_by(100).await;
    gate.reached().await;
    gate.open();
    let answers: Vec<_> = join_all(clients).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(runs.count(), 1);
    assert!(answers.iter().all(|answer| answer.status == 201 && answer.body == r#"{"run":1}"#), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| !answer.is_replay()).count(), 1);
}

/// That it is this problem, in full, and tells nothing that was hidden in a record, a request or a store.
fn told(answer: &Answer, problem: Problem) {
    assert_eq!(answer.problem(), problem.name());
    assert_eq!(answer.header("content-language"), Some("en"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("retry-after").is_some(), problem.is_passing(), "{answer:?}");
    let whole = format!("{answer:?}");
    assert!(!whole.contains("hidden"), "{whole}");
}

/// A response that a record hides.
fn hidden(status: u16) -> impl IntoResponse {
    (StatusCode::from_u16(status).unwrap(), [("x-secret", "hidden-header")], "hidden-body")
}

async fn point_20_every_error_is_a_problem_of_a_stable_type_that_tells_nothing_stored(via: Via) {
    let runs = Runs::default();
    let builder = scoped(&Idempotency::memory()).required().request_limit(64);
    let shop = via.shop(answering(&runs, |_| hidden(201)).layer(builder.build().unwrap())).await;
    assert_eq!(Ask::pay("hidden-key").to(&shop).await.status, 201);
    for (ask, problem) in [
        (Ask::new(Method::POST, "/payments"), Problem::KeyMissing),
        (Ask::new(Method::POST, "/payments").key("\"hidden-key"), Problem::KeyInvalid),
        (Ask::pay("hidden-key").without("authorization"), Problem::ScopeMissing),
        (Ask::pay("hidden-key").body("x".repeat(65)), Problem::BodyTooLarge),
        (Ask::pay("hidden-key").body("other"), Problem::KeyReused),
    ] {
        told(&ask.to(&shop).await, problem);
    }
    // A body that does not arrive whole is in `wire`, as no client sends one.

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
    let shop = via.shop(payments(&runs).layer(own.build().unwrap())).await;
    let answer = Ask::new(Method::POST, "/payments").to(&shop).await;
    assert!(answer.body.contains("https://api.example.com/idempotency#key-missing"), "{answer:?}");
    for wrong in ["", "a b", "https://example.com/#here", "https://example.com/>"] {
        assert!(scoped(&Idempotency::memory()).documentation(wrong).build().is_err(), "{wrong:?}");
    }
}

async fn point_20_what_comes_from_a_record_tells_nothing_of_it(via: Via) {
    let builder = || scoped(&Idempotency::memory());
    let one = NonZeroU32::new(1).unwrap();
    for (layer, status, problem) in [
        (builder().response_limit(10), 201, Problem::ResponseNotStored),
        (builder().server_errors(ServerErrors::Hold), 502, Problem::OutcomeUnknown),
        (builder().max_attempts(one), 502, Problem::Exhausted),
    ] {
        let runs = Runs::default();
        let shop = via.shop(answering(&runs, move |_| hidden(status)).layer(layer.build().unwrap())).await;
        let ask = Ask::pay("hidden-key").of("hidden-scope");
        assert_eq!(ask.to(&shop).await.body, "hidden-body");
        told(&ask.to(&shop).await, problem);
        assert_eq!(runs.count(), 1);
    }
    // Unreadable: somebody has resolved it with something that is no response.
    let idempotency = Idempotency::memory();
    let layer = scoped(&idempotency).server_errors(ServerErrors::Hold).build().unwrap();
    let shop = via.shop(answering(&Runs::default(), |_| hidden(502)).layer(layer.clone())).await;
    assert_eq!(Ask::pay("k").to(&shop).await.status, 502);
    let key = layer.record_key(&Method::POST, "/payments", Some("Bearer ada"), "k").unwrap();
    let seen = idempotency.inspect(&key).await.unwrap().unwrap();
    let decision = Decision { who: "ada", why: "by mistake" };
    idempotency.resolve(&key, &seen, &"hidden", Duration::from_hours(1), decision).await.unwrap();
    told(&Ask::pay("k").to(&shop).await, Problem::RecordUnreadable);
    // From annotated functions.
    let shop = via.shop(functions(builder().build().unwrap())).await;
    for (state, problem) in [("failed", Problem::Failed), ("not%20installed", Problem::Misconfigured)] {
        let path = format!("/functions/{state}");
        told(&Ask::new(Method::POST, &path).key("\"k\"").to(&shop).await, problem);
    }
}

async fn point_20_what_passes_says_when_to_come_back(via: Via) {
    // The others are in the cases of points 18 (in flight) and 22 (from annotated functions).
    let (runs, gate) = (Runs::default(), Gate::new("paying"));
    let builder = scoped(&Idempotency::memory()).request_limit(75).response_limit(100).buffers(100);
    let shop = via.shop(gated(&runs, &gate, builder.build().unwrap())).await;
    let first = Ask::pay("hidden-key").body("x".repeat(75)).send(&shop);
    gate.reached().await;
    told(&Ask::pay("l").body("hidden").to(&shop).await, Problem::Overloaded);
    gate.open();
    assert_eq!(first.await.unwrap().status, 201);

    let gate = Gate::new("never opened");
    let layer = scoped(&Idempotency::memory()).timeout(Duration::from_millis(50)).build().unwrap();
    let shop = via.shop(gated(&runs, &gate, layer)).await;
    told(&Ask::pay("hidden-key").to(&shop).await, Problem::TimedOut);

    let store = FaultyStore::new(MemoryStore::new());
    store.next(Operation::Claim, Fault::Refuses);
    let layer = scoped(&Idempotency::with_store(store)).build().unwrap();
    let shop = via.shop(payments(&runs).layer(layer)).await;
    told(&Ask::pay("hidden-key").to(&shop).await, Problem::StoreUnavailable);
}

async fn point_21_statuses_can_be_chosen(via: Via) {
    let (runs, gate) = (Runs::default(), Gate::new("paying"));
    let builder = scoped(&Idempotency::memory()).required();
    let builder =
        builder.status(Problem::InFlight, StatusCode::LOCKED).status(Problem::KeyReused, StatusCode::CONFLICT);
    let shop = via
        .shop(gated(&runs, &gate, builder.status(Problem::KeyMissing, StatusCode::FORBIDDEN).build().unwrap()))
        .await;
    let first = Ask::pay("k").send(&shop);
    gate.reached().await;
    for (ask, status, problem) in [
        (Ask::pay("k"), 423, "in-flight"),
        (Ask::pay("k").body("other"), 409, "key-reused"),
        (Ask::new(Method::POST, "/payments"), 403, "key-missing"),
    ] {
        let answer = ask.to(&shop).await;
        assert_eq!((answer.status, &*answer.problem()), (status, problem));
    }
    gate.open();
    assert_eq!(first.await.unwrap().status, 201);
}

async fn point_22_what_the_layer_answers_is_never_stored(via: Via) {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let layer = scoped(&idempotency).request_limit(100).build().unwrap();
    let shop = via.shop(payments(&runs).layer(layer.clone())).await;
    assert_eq!(Ask::pay("k").body("x".repeat(101)).to(&shop).await.status, 413);
    assert_eq!(record(&idempotency, &layer, "k").await, None);
    assert_eq!(Ask::pay("k").to(&shop).await.status, 201);
    assert_eq!(Ask::pay("k").body("other").to(&shop).await.status, 422);
    assert!(Ask::pay("k").to(&shop).await.is_replay(), "the refusal in between has changed nothing");

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
        let shop = via.shop(payments(&runs).layer(layers)).await;
        for _ in 0..2 {
            let answer = ask.to(&shop).await;
            assert_eq!((&*answer.problem(), answer.is_replay()), (problem, false));
        }
    }
}

#[derive(Debug)]
enum NotShipped {
    Gone,
    Runtime(Error),
}

impl From<Error> for NotShipped {
    fn from(error: Error) -> Self {
        Self::Runtime(error)
    }
}

fn for_good(_: &NotShipped) -> OnError {
    OnError::Reject("hidden-summary".into())
}

#[idempotent(prefix = "ship", keys = [id], ttl = 1h, on_error = for_good)]
async fn ship(id: u32) -> Result<u32, NotShipped> {
    Err(NotShipped::Gone)
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
        "failed" => {
            let _first = idempotency.scope(ship(7)).await;
            let again = idempotency.scope(ship(7)).await;
            again.map_err(|error| match error {
                NotShipped::Runtime(error) => error,
                NotShipped::Gone => unreachable!("its failure is recorded"),
            })
        }
        "not installed" => ship(7).await.map_err(|error| match error {
            NotShipped::Runtime(error) => error,
            NotShipped::Gone => unreachable!("it has not run"),
        }),
        _ => idempotency.call("charge").key("").ttl(Duration::from_mins(1)).run(async { Ok(7) }).await,
    }
}

/// A router whose handler answers with what [`function`] comes to.
fn functions(layer: IdempotencyLayer) -> axum::Router {
    let respond = async |Path(state): Path<String>| function(&state).await.map(|charged| charged.to_string());
    axum::Router::new().route("/functions/{state}", axum::routing::any(respond)).layer(layer)
}

async fn point_22_an_error_as_a_response_is_told_by_the_layer_and_not_stored(via: Via) {
    let layer = scoped(&Idempotency::memory()).build().unwrap();
    let own =
        scoped(&Idempotency::memory()).documentation("/idempotency").status(Problem::InFlight, StatusCode::LOCKED);
    let own = own.build().unwrap();
    for (layer, documentation, busy) in [(layer, "https://docs.rs/", 409), (own, "/idempotency#", 423)] {
        let shop = via.shop(functions(layer)).await;
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
                let answer = ask.to(&shop).await;
                assert_eq!((answer.status, &*answer.problem(), answer.is_replay()), (status, problem, false));
                assert_eq!(answer.header("retry-after"), after);
                assert!(answer.header("link").unwrap().starts_with(&format!("<{documentation}")), "{answer:?}");
                assert!(!answer.body.contains("idempotency key"), "the client has made no such key: {answer:?}");
            }
        }
    }
}

async fn point_23_responses_without_a_body_are_given_again_as_they_were(via: Via) {
    for status in [204, 205, 304] {
        let runs = Runs::default();
        let respond = move |_| {
            let mut response = (StatusCode::from_u16(status).unwrap(), [("etag", "\"v1\"")]).into_response();
            *response.body_mut() = Body::empty();
            response
        };
        let shop = via.shop(answering(&runs, respond).layer(layer())).await;
        let (first, second) = (Ask::pay("k").to(&shop).await, Ask::pay("k").to(&shop).await);
        assert_eq!((first.status, second.status, runs.count()), (status, status, 1));
        assert!(second.is_replay() && second.body.is_empty());
        for name in ["content-length", "etag", "transfer-encoding"] {
            assert_eq!(first.header(name), second.header(name), "{status} {name}");
        }
    }
    // HEAD is safe, and passes; its response has no body, and is stored nowhere.
    let runs = Runs::default();
    let shop = via.shop(payments(&runs).layer(layer())).await;
    for _ in 0..2 {
        let answer = Ask::new(Method::HEAD, "/payments").key("\"k\"").to(&shop).await;
        assert_eq!((answer.status, answer.is_replay(), answer.body.as_str()), (201, false, ""));
        assert_eq!(answer.header("content-length"), Some("9"));
    }
    assert_eq!(runs.count(), 2);
}
