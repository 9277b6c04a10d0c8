//! Points 31 to 40: what happens over the life of a request and of its record.

use std::io;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use bytes::Bytes;
use http_body::Frame;
use http_body_util::StreamBody;
use idempotent_runtime::admin::{Decision, State};
use idempotent_runtime::http::{FingerprintBy, IdempotencyLayer, LayerBuilder, Problem, ServerErrors};
use idempotent_runtime::store::Retention;
use idempotent_runtime::testing::{Fault, FaultyStore, Gate, Operation};
use idempotent_runtime::{
    Error, Idempotency, MemoryStore, OnBusy, OnCrash, OnOutage, Outcome, OutcomeKind, current, idempotent, installed,
};
use serde_json::{Value, json};
use tower::{ServiceBuilder, ServiceExt as _};
use tower_http::cors::CorsLayer;
use tracing::Instrument as _;

use crate::support::{
    Answer, Ask, Runs, Via, answering, both, gated, later, layer, payments, record, scoped, seen, watched,
};

both![
    point_34_a_record_that_cannot_be_written_is_no_second_run,
    point_31_a_client_that_goes_away_does_not_cancel_the_handler,
    point_32_a_panic_is_settled_by_policy_and_goes_on,
    point_32_the_other_policies_of_the_guard_hold_too,
    point_32_a_run_that_takes_too_long_is_stopped,
    point_33_lease_and_retention_are_two_things,
    point_34_the_record_is_written_before_the_response_is_sent,
    point_35_without_a_store_nothing_runs_unless_asked_for,
    point_36_a_record_that_cannot_be_read_is_never_a_second_run,
    point_37_an_expired_key_is_new,
    point_38_a_browser_may_send_the_key_and_see_the_marker,
    point_39_what_the_published_pattern_takes_is_what_the_layer_takes,
    point_40_neither_key_nor_scope_is_logged,
];

async fn point_31_a_client_that_goes_away_does_not_cancel_the_handler(via: Via) {
    let (idempotency, runs, gate) = (Idempotency::memory(), Runs::default(), Gate::new("paying"));
    let layer = scoped(&idempotency).build().unwrap();
    let (router, ends) = watched(gated(&runs, &gate, layer));
    let shop = via.shop(router).await;
    let waiting = Ask::pay("k").send(&shop);
    gate.reached().await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled(), "the client is gone");
    seen(&ends, |ends| ends.dropped == 1).await;
    assert_eq!(Ask::pay("k").to(&shop).await.problem(), "in-flight", "and the run goes on");

    // A graceful shutdown waits for it.
    assert_eq!(idempotency.shutdown(Duration::from_millis(20)).await.unwrap_err(), 2, "a run and its claim");
    gate.open();
    idempotency.shutdown(Duration::from_mins(1)).await.expect("all is settled");
    let retry = Ask::pay("k").to(&shop).await;
    assert_eq!((retry.status, retry.is_replay(), runs.count()), (201, true, 1));
}

#[idempotent(prefix = "charge", keys = [id], ttl = 1h)]
async fn charge(id: u32) -> Result<u32, Error> {
    Ok(id)
}

/// A router whose handler waits at a gate, and then logs, and calls an annotated function.
fn charging(gate: &Gate, layer: IdempotencyLayer) -> Router {
    let gate = gate.clone();
    let pay = move || async move {
        gate.pass().await;
        tracing::info!("in the handler");
        let claim = current().expect("a claim");
        let charged = charge(7).await.expect("the ambient handle is there");
        Json(json!({"charged": charged, "attempt": claim.attempt(), "charge": claim.derive("charge")}))
    };
    Router::new().route("/payments", post(pay)).layer(layer)
}

/// The response of [`charging`], where span, claim and ambient handle have reached it.
fn reached(answer: &Answer, log: &Log) {
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((&answer["charged"], &answer["attempt"]), (&json!(7), &json!(1)));
    assert_eq!(answer["charge"].as_str().map(str::len), Some(22));
    let log = log.text();
    let line = log.lines().find(|line| line.contains("in the handler")).expect("a line");
    assert!(line.contains("connection{peer=17}") && line.contains("idempotent{prefix=\"http\""), "{line}");
    assert!(installed().is_none());
}

// By oneshot alone: a caller's span and scope do not cross a socket.
#[tokio::test]
async fn point_31_span_claim_and_ambient_handle_reach_the_handler() {
    let log = Log::default();
    let _default = log.by_default();
    let gate = Gate::new("open");
    gate.open();
    let router = charging(&gate, layer());
    let span = tracing::info_span!("connection", peer = 17);
    let asked = router.oneshot(Ask::pay("k").request()).instrument(span);
    let response = Idempotency::memory().scope(asked).await.expect("infallible");
    assert_eq!(response.extensions().get::<Outcome>().map(Outcome::kind), Some(OutcomeKind::Executed));
    reached(&Answer::of(response).await, &log);
}

// By oneshot alone: as above.
#[tokio::test]
async fn point_31_span_claim_and_ambient_handle_go_along_when_the_client_goes_away() {
    let log = Log::default();
    let _default = log.by_default();
    let (idempotency, gate) = (Idempotency::memory(), Gate::new("charging"));
    let router = charging(&gate, scoped(&idempotency).build().unwrap());
    let asked = router.clone().oneshot(Ask::pay("k").request());
    let asked = asked.instrument(tracing::info_span!("connection", peer = 17));
    let waiting = tokio::spawn(async move { Idempotency::memory().scope(asked).await });
    gate.reached().await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled(), "the client is gone, and the handler has not gone on");
    gate.open();
    idempotency.shutdown(Duration::from_mins(1)).await.expect("all is settled");
    let retry = Ask::pay("k").to(&router).await;
    assert!(retry.is_replay(), "{retry:?}");
    reached(&retry, &log);
}

async fn point_32_a_panic_is_settled_by_policy_and_goes_on(via: Via) {
    for (on_crash, retry) in [(OnCrash::Rerun, 200), (OnCrash::Hold, 500)] {
        let runs = Runs::default();
        let respond = |run| if run == 1 { panic!("the first run panics") } else { "paid" };
        let layer = scoped(&Idempotency::memory()).on_crash(on_crash).build().unwrap();
        let shop = via.shop(answering(&runs, respond).layer(layer)).await;
        // It reaches whoever called the service: a server ends the connection.
        Ask::pay("k").breaks_off(&shop).await;
        let answer = Ask::pay("k").to(&shop).await;
        assert_eq!(answer.status, retry, "{on_crash:?}");
        if on_crash == OnCrash::Hold {
            assert_eq!((&*answer.problem(), runs.count()), ("outcome-unknown", 1));
        }
    }
}

// By oneshot alone: a server of axum takes no service that fails.
#[tokio::test]
async fn point_32_an_error_of_the_service_is_settled_by_policy_and_passed_on() {
    for (server_errors, second) in [(ServerErrors::Release, None), (ServerErrors::Hold, Some(500))] {
        let runs = Runs::default();
        let count = runs.clone();
        let builder = scoped(&Idempotency::memory()).server_errors(server_errors);
        let service = ServiceBuilder::new().layer(builder.build().unwrap()).service_fn(move |_: Request<Body>| {
            count.run();
            async { Err::<Response<Body>, _>(io::Error::other("no route to the bank")) }
        });
        let first = service.clone().oneshot(Ask::pay("k").request()).await;
        assert_eq!(first.unwrap_err().to_string(), "no route to the bank");
        let again = service.oneshot(Ask::pay("k").request()).await;
        assert_eq!(again.as_ref().ok().map(|response| response.status().as_u16()), second);
        assert_eq!(runs.count(), if second.is_none() { 2 } else { 1 });
    }
}

async fn point_32_the_other_policies_of_the_guard_hold_too(via: Via) {
    let runs = Runs::default();
    let builder = scoped(&Idempotency::memory()).max_attempts(NonZeroU32::new(2).unwrap());
    let shop = via.shop(answering(&runs, |_| StatusCode::BAD_GATEWAY).layer(builder.build().unwrap())).await;
    for _ in 0..2 {
        assert_eq!(Ask::pay("k").to(&shop).await.status, 502);
    }
    assert_eq!(Ask::pay("k").to(&shop).await.problem(), "attempts-exhausted");
    assert_eq!(runs.count(), 2);
}

async fn point_32_a_run_that_takes_too_long_is_stopped(via: Via) {
    let (runs, gate) = (Runs::default(), Gate::new("paying"));
    let layer = scoped(&Idempotency::memory()).timeout(Duration::from_millis(100)).build().unwrap();
    let shop = via.shop(gated(&runs, &gate, layer)).await;
    let late = Ask::pay("k").to(&shop).await;
    assert_eq!((late.status, &*late.problem(), late.header("retry-after")), (503, "timed-out", Some("1")));
    gate.open();
    assert_eq!(Ask::pay("k").to(&shop).await.status, 201, "its claim was released");
}

async fn point_33_lease_and_retention_are_two_things(via: Via) {
    let (idempotency, runs, gate) = (Idempotency::memory(), Runs::default(), Gate::new("paying"));
    let layer = scoped(&idempotency).lease(Duration::from_secs(7)).ttl(Duration::from_hours(48)).build().unwrap();
    let shop = via.shop(gated(&runs, &gate, layer.clone())).await;
    let first = Ask::pay("k").send(&shop);
    gate.reached().await;
    let State::InProgress { lease, .. } = record(&idempotency, &layer, "k").await.unwrap().state else { panic!() };
    assert_eq!(lease, Duration::from_secs(7));
    gate.open();
    first.await.unwrap();
    let Retention::For(left) = record(&idempotency, &layer, "k").await.unwrap().expires_in else { panic!() };
    assert!(left > Duration::from_hours(47), "{left:?}");
}

async fn point_34_the_record_is_written_before_the_response_is_sent(via: Via) {
    let store = FaultyStore::new(MemoryStore::new());
    let (idempotency, runs, gate) = (Idempotency::with_store(store.clone()), Runs::default(), Gate::new("completing"));
    store.next(Operation::Complete, Fault::WaitsBefore(gate.clone()));
    let layer = scoped(&idempotency).build().unwrap();
    let shop = via.shop(payments(&runs).layer(layer.clone())).await;
    let first = Ask::pay("k").send(&shop);
    gate.reached().await;
    assert!(!first.is_finished(), "the handler has run, and its record is not written");
    assert_eq!(runs.count(), 1);
    gate.open();
    assert_eq!(first.await.unwrap().status, 201);
    assert!(matches!(record(&idempotency, &layer, "k").await.unwrap().state, State::Completed(_)));
}

async fn point_34_a_record_that_cannot_be_written_is_no_second_run(via: Via) {
    let whole = || Response::new(Body::from("paid"));
    let streamed = || {
        let chunk = Ok::<_, io::Error>(Frame::data(Bytes::from_static(b"paid")));
        Response::new(Body::new(StreamBody::new(futures_util::stream::iter([chunk]))))
    };
    for (respond, later) in [(whole as fn() -> Response<Body>, "paid"), (streamed, "response-not-stored")] {
        let store = FaultyStore::new(MemoryStore::new());
        let builder = Idempotency::builder().settle_timeout(Duration::from_millis(50));
        let (idempotency, runs) = (builder.build(store.clone()).unwrap(), Runs::default());
        let layer = scoped(&idempotency).build().unwrap();
        let shop = via.shop(answering(&runs, move |_| respond()).layer(layer)).await;
        store.always(Operation::Complete, Fault::Fails);
        let first = Ask::pay("k").to(&shop).await;
        assert_eq!((first.status, &*first.body), (200, "paid"), "what was done is told");
        // The claim stands, and what has been done is not done again.
        let retry = Ask::pay("k").to(&shop).await;
        assert_eq!((retry.status, &*retry.problem(), runs.count()), (409, "in-flight", 1));
        store.go_down();
        assert_eq!(Ask::pay("k").to(&shop).await.problem(), "store-unavailable");
        // It is written once the store is back.
        store.heal();
        idempotency.shutdown(Duration::from_mins(1)).await.expect("it is written");
        let retry = Ask::pay("k").to(&shop).await;
        assert!(retry.body.contains(later), "{retry:?}");
        assert_eq!(runs.count(), 1);
    }
}

async fn point_35_without_a_store_nothing_runs_unless_asked_for(via: Via) {
    let store = FaultyStore::new(MemoryStore::new());
    let (idempotency, runs) = (Idempotency::with_store(store.clone()), Runs::default());
    let shop = via.shop(payments(&runs).layer(scoped(&idempotency).build().unwrap())).await;
    store.go_down();
    let down = Ask::pay("k").to(&shop).await;
    assert_eq!((down.status, &*down.problem(), runs.count()), (503, "store-unavailable", 0));
    assert_eq!(down.header("retry-after"), Some("1"));
    let unguarded = payments(&runs).layer(scoped(&idempotency).on_outage(OnOutage::Run).build().unwrap());
    assert_eq!(Ask::pay("k").to(&via.shop(unguarded).await).await.status, 201);
    assert_eq!(runs.count(), 1);
    store.heal();
    assert_eq!(Ask::pay("k").to(&shop).await.status, 201, "the control");
}

async fn point_36_a_record_that_cannot_be_read_is_never_a_second_run(via: Via) {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let layer = scoped(&idempotency).server_errors(ServerErrors::Hold).build().unwrap();
    let shop = via.shop(answering(&runs, |_| StatusCode::BAD_GATEWAY).layer(layer.clone())).await;
    let stored = |version: u32, headers: usize| json!({"http": version, "status": 200, "headers": vec![["a", "b"]; headers], "body": {"text": "paid"}});
    for (key, resolved, readable) in [
        ("nothing of ours", json!("paid"), false),
        ("a later version", stored(2, 1), false),
        ("more headers than there is room for", stored(1, 25_000), false),
        ("the control", stored(1, 1), true),
    ] {
        let before = runs.count();
        assert_eq!(Ask::pay(key).to(&shop).await.status, 502);
        let record = layer.record_key(&Method::POST, "/payments", Some("Bearer ada"), key).unwrap();
        let seen = idempotency.inspect(&record).await.unwrap().unwrap();
        let decision = Decision { who: "ada", why: "by mistake" };
        idempotency.resolve(&record, &seen, &resolved, Duration::from_hours(1), decision).await.unwrap();
        for _ in 0..2 {
            let answer = Ask::pay(key).to(&shop).await;
            assert_eq!((answer.status, runs.count()), (if readable { 200 } else { 500 }, before + 1), "{key}");
            assert!(readable || answer.problem() == "record-unreadable", "{key}");
        }
    }
}

async fn point_37_an_expired_key_is_new(via: Via) {
    let runs = Runs::default();
    let shop = via
        .shop(payments(&runs).layer(scoped(&Idempotency::memory()).ttl(Duration::from_hours(1)).build().unwrap()))
        .await;
    assert_eq!(Ask::pay("k").to(&shop).await.status, 201);
    later(Duration::from_mins(59)).await;
    assert!(Ask::pay("k").to(&shop).await.is_replay());
    later(Duration::from_mins(2)).await;
    let other = Ask::pay("k").body("another request").to(&shop).await;
    assert_eq!((other.status, other.is_replay(), runs.count()), (201, false, 2));
}

async fn point_38_a_browser_may_send_the_key_and_see_the_marker(via: Via) {
    let (runs, layer) = (Runs::default(), layer());
    let cors = CorsLayer::new()
        .allow_origin(tower_http::cors::Any)
        .allow_headers(layer.request_headers())
        .expose_headers(layer.response_headers());
    let shop = via.shop(payments(&runs).layer(layer).layer(cors)).await;
    let preflight = Ask::new(Method::OPTIONS, "/payments")
        .header("origin", "https://shop.example.com")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "idempotency-key");
    let allowed = preflight.to(&shop).await;
    assert_eq!(allowed.header("access-control-allow-headers"), Some("idempotency-key"));
    let paid = Ask::pay("k").header("origin", "https://shop.example.com").to(&shop).await;
    assert_eq!(paid.header("access-control-expose-headers"), Some("idempotent-replayed,retry-after,link"));
}

// By no request: what is published is data.
#[tokio::test]
async fn point_39_the_rules_are_published_as_data() {
    let builder = scoped(&Idempotency::memory()).required().strict().ttl(Duration::from_hours(48));
    let builder = builder.key_length(16, 64).key_characters("A-Za-z0-9-").fingerprint(FingerprintBy::json());
    let layer = builder.documentation("https://api.example.com/idempotency").build().unwrap();
    let policy = serde_json::to_value(layer.policy()).unwrap();
    let mut expected = json!({
        "header": "Idempotency-Key",
        "required": true,
        "methods": ["POST", "PATCH"],
        "key": {
            "syntax": "structured-field-string",
            "shortest": 16,
            "longest": 64,
            "characters": "A-Za-z0-9-",
            "pattern": r#"^"(?:[\-0-9A-Za-z]){16,64}"(?:;.*)?$"#,
        },
        "expires_after_seconds": 172_800,
        "fingerprint": "method, path and query, content type, body as JSON",
        "waits_seconds": 0,
        "server_errors": "released",
        "replay_marker": "Idempotent-Replayed",
    });
    expected["problems"] = policy["problems"].clone();
    assert_eq!(policy, expected);
    let reused = json!({
        "type": "https://api.example.com/idempotency#key-reused",
        "status": 422,
        "title": "Idempotency-Key is already used",
    });
    assert!(policy["problems"].as_array().unwrap().contains(&reused));

    let openapi: Value = serde_json::from_str(&layer.openapi()).expect("JSON");
    let parameter = &openapi["components"]["parameters"]["IdempotencyKey"];
    assert_eq!((&parameter["name"], &parameter["required"]), (&json!("Idempotency-Key"), &json!(true)));
    assert_eq!(parameter["schema"], json!({"type": "string", "pattern": policy["key"]["pattern"]}));
    let description = parameter["description"].as_str().unwrap();
    assert!(description.contains("172800 seconds"), "the expiry is published");
    assert!(description.contains("16 to 64 characters in double quotes"), "{description}");
    for response in ["Idempotency400", "Idempotency409", "Idempotency422"] {
        assert!(openapi["components"]["responses"][response]["description"].is_string(), "{response}");
    }
}

async fn point_39_what_the_published_pattern_takes_is_what_the_layer_takes(via: Via) {
    let quoted = |key: &str| format!("\"{key}\"");
    let fields = [
        quoted("8e03978e"),
        "8e03978e".into(),
        quoted("8e0"),
        quoted("8e03978e-1"),
        quoted("8E03978E"),
        "\"8e03978e".into(),
        "\"8e03978e\";a=1".into(),
        "8e03978e;a=1".into(),
        quoted(r#"\"\\\"\\"#),
        quoted(r#"""""#),
        r#"\"\"\"\""#.into(),
        quoted("a b/c:d"),
        "a b/c:d".into(),
        "a/b:c".into(),
        quoted(""),
        quoted("é678"),
    ];
    for (class, strict) in
        [(None, true), (None, false), (Some("a-f0-9"), true), (Some("a-f0-9"), false), (Some("!-#[-^"), false)]
    {
        let builder = scoped(&Idempotency::memory()).key_length(4, 8);
        let builder = if strict { builder.strict() } else { builder };
        let builder = class.into_iter().fold(builder, LayerBuilder::key_characters);
        let layer = builder.build().unwrap();
        let pattern = regex_lite::Regex::new(&layer.policy().key.pattern).expect("a regular expression");
        let shop = via.shop(payments(&Runs::default()).layer(layer)).await;
        for field in &fields {
            let status = Ask::new(Method::POST, "/payments").key(field).to(&shop).await.status;
            assert_eq!(pattern.is_match(field), status == 201, "{pattern} of {class:?}: {field} is answered {status}");
        }
    }
}

// By no request: as above.
#[tokio::test]
async fn point_39_what_was_chosen_is_published_as_chosen() {
    let builder = scoped(&Idempotency::memory()).status(Problem::InFlight, StatusCode::LOCKED);
    let builder = builder.status(Problem::KeyReused, StatusCode::CONFLICT).ttl(Duration::from_millis(1500));
    let layer =
        builder.on_busy(OnBusy::Wait(Duration::from_millis(500))).documentation("/idempotency").build().unwrap();
    let policy = serde_json::to_value(layer.policy()).unwrap();
    assert_eq!((&policy["waits_seconds"], &policy["expires_after_seconds"]), (&json!(0.5), &json!(1.5)));
    let openapi: Value = serde_json::from_str(&layer.openapi()).expect("JSON");
    let components = &openapi["components"];
    for (status, comes_back) in [(423, true), (503, true), (409, false), (400, false), (500, false)] {
        let response = &components["responses"][format!("Idempotency{status}")];
        assert_eq!(response["headers"]["Retry-After"].is_object(), comes_back, "{status}: {response}");
    }
    let kind = &components["schemas"]["IdempotencyProblem"]["properties"]["type"];
    assert_eq!(kind["format"], "uri-reference");
    assert!(kind["enum"].as_array().unwrap().contains(&json!("/idempotency#in-flight")));
}

/// What is logged while it is the default.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Takes what is logged, until it is dropped.
    fn by_default(&self) -> tracing::subscriber::DefaultGuard {
        let subscriber = tracing_subscriber::fmt().with_writer(self.clone()).with_ansi(false).finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl tracing_subscriber::fmt::MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

async fn point_40_neither_key_nor_scope_is_logged(via: Via) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::FULL)
        .with_writer(log.clone())
        .finish();
    let _default = tracing::subscriber::set_default(subscriber);
    let runs = Runs::default();
    let store = FaultyStore::new(MemoryStore::new());
    let layer = scoped(&Idempotency::with_store(store.clone())).server_errors(ServerErrors::Hold).build().unwrap();
    let respond = |run| if run == 1 { StatusCode::OK } else { StatusCode::BAD_GATEWAY };
    let shop = via.shop(answering(&runs, respond).layer(layer)).await;
    let ask = |key| Ask::pay(key).of("topsecret");
    for (ask, status) in [
        (ask("rawkey-1"), 200),
        (ask("rawkey-1"), 200),
        (ask("rawkey-1").body("other"), 422),
        (ask("rawkey-2"), 502),
        (ask("rawkey-2"), 500),
        (ask("rawkey-3").key("\"rawkey-3"), 400),
    ] {
        assert_eq!(ask.to(&shop).await.status, status);
    }
    store.next(Operation::Claim, Fault::Refuses);
    assert_eq!(ask("rawkey-4").to(&shop).await.status, 503);
    let log = log.text();
    assert!(log.contains("http:POST:/payments:") && log.contains("mismatch"), "the control: it does log\n{log}");
    assert!(!log.contains("rawkey") && !log.contains("topsecret"), "{log}");
}
