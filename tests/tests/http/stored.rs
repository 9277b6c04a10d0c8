//! Points 24 to 30: what is stored of a response, and of which.

use std::convert::Infallible;
use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{AppendHeaders, IntoResponse, Response};
use bytes::Bytes;
use futures_util::{FutureExt as _, stream};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper_util::rt::TokioIo;
use idempotent_runtime::admin::State;
use idempotent_runtime::http::{Keep, ServerErrors};
use idempotent_runtime::store::Retention;
use idempotent_runtime::testing::{FaultyStore, Gate, Operation};
use idempotent_runtime::{
    Codec, CodecTag, ErrorKind, Idempotency, MemoryStore, NoResult, Recorded, ResultRef, ResultSlot,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tower::{ServiceBuilder, ServiceExt as _};
use tower_http::compression::CompressionLayer;

use crate::support::{Answer, Ask, Runs, Shop, Via, answering, both, layer, record, scoped};

both![
    point_24_the_status_says_what_is_stored,
    point_24_a_held_server_error_waits_for_a_person,
    point_25_a_handler_can_force_decline_and_set_the_ttl,
    point_26_what_belongs_to_a_session_or_a_connection_is_never_given_again,
    point_27_a_content_encoding_fits_its_bytes,
    point_28_a_body_over_the_limit_is_refused_before_any_claim,
    point_29_a_response_of_unknown_length_is_recorded_before_its_head_and_streams_through,
    point_29_a_response_over_the_limit_is_sent_and_not_stored,
    point_29_all_bodies_together_stay_under_a_bound,
    point_29_a_body_longer_than_it_said_is_broken_off,
    point_29_a_body_that_breaks_off_is_never_given_again,
    point_30_trailers_events_and_upgrades_are_not_given_again,
];

/// Whether a response with this status is given again; else the retry runs.
async fn is_stored(via: Via, status: u16, server_errors: ServerErrors) -> bool {
    let runs = Runs::default();
    let builder = scoped(&Idempotency::memory()).server_errors(server_errors);
    let respond = move |run: u32| (StatusCode::from_u16(status).unwrap(), run.to_string());
    let shop = via.shop(answering(&runs, respond).layer(builder.build().unwrap())).await;
    let (first, second) = (Ask::pay("k").to(&shop).await, Ask::pay("k").to(&shop).await);
    assert_eq!((first.status, second.status), (status, status));
    assert_eq!(second.is_replay(), runs.count() == 1, "{status}");
    second.is_replay()
}

async fn point_24_the_status_says_what_is_stored(via: Via) {
    for status in [200, 201, 202, 203, 207, 299, 301, 303, 307, 400, 402, 404, 405, 409, 410, 418, 422, 451] {
        assert!(is_stored(via, status, ServerErrors::Release).await, "{status}");
    }
    for status in [401, 403, 408, 425, 429] {
        assert!(!is_stored(via, status, ServerErrors::Store).await, "{status}");
    }
    for status in [500, 501, 503, 599] {
        assert!(!is_stored(via, status, ServerErrors::Release).await, "{status}");
        assert!(is_stored(via, status, ServerErrors::Store).await, "{status}");
    }
}

async fn point_24_a_held_server_error_waits_for_a_person(via: Via) {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let layer = scoped(&idempotency).server_errors(ServerErrors::Hold).build().unwrap();
    let respond = |run: u32| if run == 1 { (StatusCode::BAD_GATEWAY, "?") } else { (StatusCode::OK, "paid") };
    let shop = via.shop(answering(&runs, respond).layer(layer.clone())).await;
    let first = Ask::pay("k").to(&shop).await;
    assert_eq!((first.status, first.body.as_str()), (502, "?"), "the first caller gets what the handler said");
    for _ in 0..2 {
        let retry = Ask::pay("k").to(&shop).await;
        assert_eq!((retry.status, &*retry.problem(), runs.count()), (500, "outcome-unknown", 1));
    }
    let seen = record(&idempotency, &layer, "k").await.expect("a record");
    let key = layer.record_key(&axum::http::Method::POST, "/payments", Some("Bearer ada"), "k").unwrap();
    let decision = idempotent_runtime::admin::Decision { who: "ada", why: "the bank knows nothing of it" };
    idempotency.release(&key, &seen, decision).await.expect("it is released");
    assert_eq!(Ask::pay("k").to(&shop).await.body, "paid");
    assert!(Ask::pay("k").to(&shop).await.is_replay());
}

async fn point_25_a_handler_can_force_decline_and_set_the_ttl(via: Via) {
    for (status, keep, stored) in [
        (200, Keep::never(), false),
        (500, Keep::always(), true),
        (429, Keep::always(), true),
        (200, Keep::by_status(), true),
        (500, Keep::by_status(), false),
    ] {
        let runs = Runs::default();
        let respond = move |_| (StatusCode::from_u16(status).unwrap(), Extension(keep), "x");
        let shop = via.shop(answering(&runs, respond).layer(layer())).await;
        assert_eq!(Ask::pay("k").to(&shop).await.status, status);
        assert_eq!(Ask::pay("k").to(&shop).await.is_replay(), stored, "{status} {keep:?}");
    }

    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let layer = scoped(&idempotency).ttl(Duration::from_hours(24)).build().unwrap();
    let respond = |_| (Extension(Keep::by_status().ttl(Duration::from_mins(5))), "quote");
    let shop = via.shop(answering(&runs, respond).layer(layer.clone())).await;
    Ask::pay("k").to(&shop).await;
    let record = record(&idempotency, &layer, "k").await.expect("a record");
    let Retention::For(left) = record.expires_in else { panic!("{record:?}") };
    assert!(left <= Duration::from_mins(5) && left > Duration::from_mins(4), "{left:?}");
}

async fn point_26_what_belongs_to_a_session_or_a_connection_is_never_given_again(via: Via) {
    let never = [
        ("set-cookie", "session=1"),
        ("set-cookie2", "session=1"),
        ("www-authenticate", "Basic"),
        ("proxy-authenticate", "Basic"),
        ("authentication-info", "x"),
        ("proxy-authentication-info", "x"),
        ("authorization", "Bearer t"),
        ("proxy-authorization", "Basic t"),
        ("x-auth-token", "t"),
        ("csrf-token", "t"),
        ("x-csrf-token", "t"),
        ("x-csrftoken", "t"),
        ("x-xsrf-token", "t"),
        ("connection", "x-hop"),
        ("x-hop", "1"),
        ("proxy-connection", "x"),
        ("keep-alive", "timeout=5"),
        ("te", "trailers"),
        ("trailer", "x-sum"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("date", "Tue, 15 Nov 1994 08:12:31 GMT"),
    ];
    let runs = Runs::default();
    // A server of HTTP/1 says itself how it sends a body.
    let never = never.into_iter().filter(|(name, _)| via == Via::Oneshot || *name != "transfer-encoding");
    let never: Vec<_> = never.collect();
    let headers = never.clone();
    let respond = move |_| (AppendHeaders(headers.clone()), [("location", "/1")], "paid");
    let shop = via.shop(answering(&runs, respond).layer(layer())).await;
    let (first, second) = (Ask::pay("k").to(&shop).await, Ask::pay("k").to(&shop).await);
    for (name, value) in never {
        assert_eq!(first.header(name), Some(value), "the first caller gets it");
        // A server says its own date.
        let own = via == Via::Socket && name == "date";
        assert!(second.header(name).is_none_or(|again| own && again != value), "{name}: {second:?}");
    }
    assert!(second.is_replay());
    assert_eq!((second.header("location"), second.body.as_str()), (Some("/1"), "paid"), "the control");

    let name = |name| HeaderName::from_static(name);
    let builder = scoped(&Idempotency::memory()).never_replay([name("x-trace")]);
    let respond = |_| ([("x-trace", "1"), ("location", "/1")], "paid");
    let shop = via.shop(answering(&runs, respond).layer(builder.build().unwrap())).await;
    Ask::pay("k").to(&shop).await;
    assert_eq!(Ask::pay("k").to(&shop).await.header("x-trace"), None);
    let builder = scoped(&Idempotency::memory()).replay_only([name("location")]);
    let shop = via.shop(answering(&runs, respond).layer(builder.build().unwrap())).await;
    Ask::pay("k").to(&shop).await;
    let second = Ask::pay("k").to(&shop).await;
    assert_eq!((second.header("x-trace"), second.header("location")), (None, Some("/1")));
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).expect("into memory");
    encoder.finish().expect("into memory")
}

async fn point_27_a_content_encoding_fits_its_bytes(via: Via) {
    let long = "paid ".repeat(1000);
    // A handler that compresses by itself, inside the layer.
    let (runs, compressed) = (Runs::default(), gzip(&long));
    let bytes = compressed.clone();
    let shop = via.shop(answering(&runs, move |_| ([(CONTENT_ENCODING, "gzip")], bytes.clone())).layer(layer())).await;
    for replayed in [false, true] {
        let answer = Ask::pay("k").to(&shop).await;
        assert_eq!(answer.is_replay(), replayed);
        assert_eq!((answer.header("content-encoding"), &answer.bytes[..]), (Some("gzip"), &compressed[..]));
    }
    // Compression outside: the record holds plain bytes, and each response is compressed as its own request allows.
    let text = long.clone();
    let shop = via.shop(answering(&runs, move |_| text.clone()).layer(layer()).layer(CompressionLayer::new())).await;
    for (accepts, encoding) in [("gzip", Some("gzip")), ("identity", None), ("gzip", Some("gzip"))] {
        let answer = Ask::pay("k").header("accept-encoding", accepts).to(&shop).await;
        assert_eq!(answer.header("content-encoding"), encoding);
        let plain = if encoding.is_some() { gunzip(&answer.bytes) } else { answer.bytes.to_vec() };
        assert!(plain == long.as_bytes());
    }
    // Compression inside makes the length unknown: such a response is not stored, rather than stored half.
    let text = long.clone();
    let shop = via.shop(answering(&runs, move |_| text.clone()).layer(CompressionLayer::new()).layer(layer())).await;
    let ask = Ask::pay("k").header("accept-encoding", "gzip");
    assert!(gunzip(&ask.to(&shop).await.bytes) == long.as_bytes());
    assert_eq!(ask.to(&shop).await.problem(), "response-not-stored");
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Read as _;
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain).expect("gzip");
    plain
}

async fn point_28_a_body_over_the_limit_is_refused_before_any_claim(via: Via) {
    let store = FaultyStore::new(MemoryStore::new());
    let (idempotency, runs) = (Idempotency::with_store(store.clone()), Runs::default());
    let layer = scoped(&idempotency).request_limit(10).build().unwrap();
    let shop = via.shop(answering(&runs, |_| "paid").layer(layer.clone())).await;
    assert_eq!(Ask::pay("k").body("x".repeat(11)).to(&shop).await.problem(), "body-too-large");

    // Of unknown length: it shows only while it is read.
    assert_eq!(Ask::pay("k").body("x".repeat(11)).chunked().to(&shop).await.problem(), "body-too-large");
    // By a limit further out, which says so while the layer reads.
    let limit = |request: Request| request.map(|body| Body::new(Limited::new(body, 5)));
    let layers = ServiceBuilder::new().map_request(limit).layer(layer);
    let limited = via.shop(answering(&runs, |_| "paid").layer(layers)).await;
    assert_eq!(Ask::pay("k").body("123456").to(&limited).await.problem(), "body-too-large");
    assert_eq!((store.calls(Operation::Claim), runs.count()), (0, 0));
    assert_eq!(Ask::pay("k").body("x".repeat(10)).chunked().to(&shop).await.status, 200, "the control");
    assert_eq!(Ask::pay("l").body("12345").to(&limited).await.status, 200, "the control");
}

/// A body of unknown length that waits at a gate before its second chunk.
fn streamed(gate: &Gate) -> Body {
    let gate = gate.clone();
    let chunks = stream::unfold(0, move |at| {
        let gate = gate.clone();
        async move {
            if at == 1 {
                gate.pass().await;
            }
            let text = ["first ", "second"].get(at)?;
            Some((Ok::<_, Infallible>(Frame::data(Bytes::from_static(text.as_bytes()))), at + 1))
        }
    });
    Body::new(StreamBody::new(chunks))
}

async fn point_29_a_response_of_unknown_length_is_recorded_before_its_head_and_streams_through(via: Via) {
    let (idempotency, runs, gate) = (Idempotency::memory(), Runs::default(), Gate::new("half way"));
    let layer = scoped(&idempotency).build().unwrap();
    let at = gate.clone();
    let shop = via.shop(answering(&runs, move |_| Response::new(streamed(&at))).layer(layer.clone())).await;
    let response = Ask::pay("k").open(&shop).await;
    // The head is here, and half of the body is still to come.
    assert_eq!(response.status(), 200);
    let found = record(&idempotency, &layer, "k").await.expect("a record").state;
    assert_eq!(found, State::Completed(Recorded::Nothing(NoResult::NotWanted)));
    let retry = Ask::pay("k").to(&shop).await;
    assert_eq!((retry.status, &*retry.problem(), runs.count()), (410, "response-not-stored", 1));
    gate.open();
    assert_eq!(response.body().await.unwrap(), "first second");
}

async fn point_29_a_response_over_the_limit_is_sent_and_not_stored(via: Via) {
    for (length, stored) in [(100, true), (101, false)] {
        let runs = Runs::default();
        let builder = scoped(&Idempotency::memory()).response_limit(100);
        let shop = via.shop(answering(&runs, move |_| "x".repeat(length)).layer(builder.build().unwrap())).await;
        assert_eq!(Ask::pay("k").to(&shop).await.body.len(), length);
        let retry = Ask::pay("k").to(&shop).await;
        assert_eq!((retry.is_replay(), runs.count()), (stored, 1));
        assert_eq!(retry.status, if stored { 200 } else { 410 });
    }
}

async fn point_29_all_bodies_together_stay_under_a_bound(via: Via) {
    let (runs, gate) = (Runs::default(), Gate::new("paying"));
    let (count, at) = (runs.clone(), gate.clone());
    let pay = move |_: Bytes| async move {
        count.run();
        at.pass().await;
        "x".repeat(60)
    };
    // A quarter is left for responses.
    let limited = scoped(&Idempotency::memory()).request_limit(90).response_limit(120);
    let layer = limited.clone().buffers(120).build().unwrap();
    let shop = via.shop(axum::Router::new().route("/payments", axum::routing::post(pay)).layer(layer)).await;
    let first = Ask::pay("k").body("x".repeat(80)).send(&shop);
    gate.reached().await;
    let refused = Ask::pay("l").body("x".repeat(11)).to(&shop).await;
    assert_eq!((refused.status, &*refused.problem(), runs.count()), (503, "overloaded", 1));
    assert_eq!(refused.header("retry-after"), Some("1"));
    gate.open();
    assert_eq!(first.await.unwrap().body.len(), 60, "its own body is gone, so its response has room");
    assert!(Ask::pay("k").body("x".repeat(80)).to(&shop).await.is_replay());
    assert_eq!(Ask::pay("l").body("x".repeat(90)).to(&shop).await.status, 200, "all is given back");

    // What could never have room is refused when the layer is built: else it would be refused for ever.
    let error = limited.clone().buffers(118).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("a request of 90, which `request_limit` allows"), "{error}");
    assert!(error.to_string().contains("write `buffers(120)` or more"), "{error}");
    let error = limited.response_limit(121).buffers(120).build().unwrap_err();
    assert!(error.to_string().contains("a response of 121, which `response_limit` allows"), "{error}");
}

// By oneshot alone: the requests are polled once, and so known to be waiting.
#[tokio::test]
async fn point_29_what_is_announced_and_not_sent_takes_no_room() {
    let runs = Runs::default();
    let layer = scoped(&Idempotency::memory()).request_limit(75).response_limit(100).buffers(100).build().unwrap();
    let router = answering(&runs, |_| "paid").layer(layer);
    let mut idle = Vec::new();
    for at in 0..3 {
        let mut request = Ask::pay(&format!("idle{at}")).request();
        let nothing = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
        *request.body_mut() = Body::new(SaysLength(nothing, 70));
        let mut waiting = Box::pin(router.clone().oneshot(request));
        assert!(waiting.as_mut().now_or_never().is_none(), "it waits for its body");
        idle.push(waiting);
    }
    assert_eq!(Ask::pay("k").body("x".repeat(70)).to(&router).await.status, 200);
    assert_eq!(runs.count(), 1);
    drop(idle);
}

// By oneshot alone: what a server has taken and not written is not to be seen from a client.
#[tokio::test]
async fn point_29_a_response_counts_until_its_last_byte_is_gone() {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let layer = scoped(&idempotency).request_limit(75).response_limit(100).buffers(100).build().unwrap();
    let router = answering(&runs, |_| "x".repeat(60)).layer(layer);
    let Ok(response) = router.clone().oneshot(Ask::pay("k").body("").request()).await;
    // Taken from its body as a server takes it, and not written yet: no other response has room, nor has a replay.
    let taken = response.into_body().collect().await.unwrap().to_bytes();
    let other = Ask::pay("l").body("").to(&router).await;
    assert_eq!((other.status, other.body.len(), runs.count()), (200, 60, 2), "it is sent all the same");
    let replay = Ask::pay("k").body("").to(&router).await;
    assert_eq!((replay.status, &*replay.problem()), (503, "overloaded"));
    drop(taken);
    assert!(Ask::pay("k").body("").to(&router).await.is_replay());
    // The one that found no room was recorded as without a body.
    assert_eq!(Ask::pay("l").body("").to(&router).await.problem(), "response-not-stored");
    assert_eq!(runs.count(), 2);
}

async fn point_29_a_body_longer_than_it_said_is_broken_off(via: Via) {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let respond = |_| {
        let chunks = (0..4).map(|_| Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"12345678"))));
        Response::new(Body::new(SaysLength(StreamBody::new(stream::iter(chunks)), 8)))
    };
    let shop =
        via.shop(answering(&runs, respond).layer(scoped(&idempotency).response_limit(16).build().unwrap())).await;
    assert_eq!(Ask::pay("k").whole(&shop).await, None, "no more of it is collected than may be");
    assert_eq!(Ask::pay("k").to(&shop).await.problem(), "response-not-stored");
    assert_eq!(runs.count(), 1);
}

async fn point_29_a_body_that_breaks_off_is_never_given_again(via: Via) {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let respond = |_| {
        let chunks = [Ok(Frame::data(Bytes::from_static(b"half"))), Err(std::io::Error::other("the disk is gone"))];
        let body = SaysLength(StreamBody::new(stream::iter(chunks)), 8);
        Response::new(Body::new(body))
    };
    let shop = via.shop(answering(&runs, respond).layer(scoped(&idempotency).build().unwrap())).await;
    assert_eq!(Ask::pay("k").whole(&shop).await, None, "the first caller sees that it broke off");
    assert_eq!(Ask::pay("k").to(&shop).await.problem(), "response-not-stored");
    assert_eq!(runs.count(), 1);
}

/// A body that announces its length.
struct SaysLength<B>(B, u64);

impl<B: http_body::Body + Unpin> http_body::Body for SaysLength<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.0).poll_frame(cx)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.1)
    }
}

async fn point_30_trailers_events_and_upgrades_are_not_given_again(via: Via) {
    type Respond = fn() -> Response;
    let trailers = || {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", HeaderValue::from_static("7"));
        let body = Full::new(Bytes::from_static(b"paid")).with_trailers(async move { Some(Ok(trailers)) });
        Response::new(Body::new(body))
    };
    let events = || Sse::new(stream::iter([Ok::<_, Infallible>(Event::default().data("paid"))])).into_response();
    let upgrade = || StatusCode::SWITCHING_PROTOCOLS.into_response();
    let all: [(&str, Respond); 3] = [("trailers", trailers), ("events", events), ("upgrade", upgrade)];
    for (what, respond) in all {
        if (via, what) == (Via::Socket, "upgrade") {
            continue; // a real one: below
        }
        let runs = Runs::default();
        let shop = via.shop(answering(&runs, move |_| respond()).layer(layer())).await;
        let first = Ask::pay("k").to(&shop).await;
        assert!(first.status == 200 && first.body.contains("paid") || first.status == 101, "{what}: {first:?}");
        let retry = Ask::pay("k").to(&shop).await;
        assert_eq!((retry.status, &*retry.problem(), runs.count()), (410, "response-not-stored", 1), "{what}");
    }
}

// On a socket alone: there is nothing to be upgraded elsewhere.
#[tokio::test]
async fn point_30_an_upgrade_goes_through_and_is_not_repeated() {
    let runs = Runs::default();
    let count = runs.clone();
    let echo = move |mut request: Request| async move {
        count.run();
        let upgraded = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let upgraded = TokioIo::new(upgraded.await.expect("it is upgraded"));
            let (mut read, mut write) = tokio::io::split(upgraded);
            tokio::io::copy(&mut read, &mut write).await
        });
        (StatusCode::SWITCHING_PROTOCOLS, [("connection", "upgrade"), ("upgrade", "echo")])
    };
    let router = axum::Router::new().route("/payments", axum::routing::post(echo)).layer(layer());
    let Shop::Server(address, client) = Via::Socket.shop(router).await else { unreachable!("a socket") };
    let url = format!("http://{address}/payments");
    let ask = |client: &reqwest::Client| {
        let request = client.post(&url).header("authorization", "Bearer ada").header("idempotency-key", "\"k\"");
        request.header("connection", "upgrade").header("upgrade", "echo").send()
    };
    let response = ask(&client).await.expect("an answer");
    assert_eq!(response.status().as_u16(), 101);
    let mut upgraded = response.upgrade().await.expect("it is upgraded");
    upgraded.write_all(b"ping").await.unwrap();
    let mut echoed = [0; 4];
    upgraded.read_exact(&mut echoed).await.unwrap();
    assert_eq!(&echoed, b"ping");
    let retry = Answer::of_reqwest(ask(&client).await.expect("an answer")).await;
    assert_eq!((retry.status, &*retry.problem(), runs.count()), (410, "response-not-stored", 1));
}

/// JSON with every byte inverted: stands for a cipher.
#[derive(Debug)]
struct Inverted;

impl Codec for Inverted {
    fn tag(&self) -> CodecTag {
        const { CodecTag::new("inverted") }
    }

    fn encode(&self, result: ResultRef<'_>) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(serde_json::to_vec(&result)?.into_iter().map(|byte| !byte).collect())
    }

    fn decode(&self, bytes: &[u8], slot: ResultSlot<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let bytes: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        Ok(slot.fill(&mut serde_json::Deserializer::from_slice(&bytes))?)
    }
}

#[tokio::test]
async fn a_codec_that_encrypts_covers_responses_too() {
    let idempotency = Idempotency::builder().codec(Inverted).build(MemoryStore::new()).unwrap();
    let (runs, layer) = (Runs::default(), scoped(&idempotency).build().unwrap());
    let router = answering(&runs, |_| "confidential").layer(layer.clone());
    for replayed in [false, true] {
        let answer = Ask::pay("k").to(&router).await;
        assert_eq!((answer.body.as_str(), answer.is_replay()), ("confidential", replayed));
    }
    let State::Completed(Recorded::Value(encoded)) = record(&idempotency, &layer, "k").await.unwrap().state else {
        panic!("no value")
    };
    assert_eq!(encoded.codec.as_str(), "inverted");
    assert!(!encoded.bytes.windows(12).any(|bytes| bytes == b"confidential"));
}
