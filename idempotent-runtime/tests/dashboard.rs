//! The page for whoever is on duty, asked as a browser asks it.
#![cfg(all(feature = "dashboard", feature = "testing"))]

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use idempotent_runtime::admin::{Decision, Leases, State};
use idempotent_runtime::dashboard::Dashboard;
use idempotent_runtime::store::{ClaimRequest, OnLapse, Retention};
use idempotent_runtime::testing::{Fault, FaultyStore, Gate, Operation};
use idempotent_runtime::{Error, Idempotency, Key, MemoryStore, Token};
use tower::ServiceExt as _;

const HOUR: Duration = Duration::from_hours(1);

/// An answer of the pages.
struct Answer {
    status: StatusCode,
    headers: axum::http::HeaderMap,
    text: String,
}

async fn ask(pages: &Router, request: Request<Body>) -> Answer {
    let response = pages.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let text = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
    Answer { status: parts.status, headers: parts.headers, text }
}

async fn get(pages: &Router, path: &str) -> Answer {
    ask(pages, Request::get(path).body(Body::empty()).unwrap()).await
}

/// A form as a browser sends it from the page itself, with further headers.
async fn post(pages: &Router, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::post("/decide")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::HOST, "localhost:7070");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", escape(value))).collect();
    ask(pages, request.body(Body::from(body.join("&"))).unwrap()).await
}

fn escape(text: &str) -> String {
    let bytes: Vec<_> = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    bytes.concat()
}

/// The value of a hidden field of the form on a page.
fn field<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).expect("a hidden field");
    rest.split_once('"').unwrap().0
}

/// A run of this key stopped half way: its lease has lapsed.
async fn abandon(idempotency: &Idempotency, order: &str) -> Key {
    let key = idempotency.key("order:consume", &[&order]).unwrap();
    let request = ClaimRequest {
        token: Token::random(),
        owner: "consumer-7",
        fingerprint: None,
        lease: Duration::from_secs(3),
        retention: Retention::For(HOUR),
        held: Retention::Forever,
        on_lapse: OnLapse::Hold,
        max_attempts: None,
        supersede: None,
        begun: true,
        fenced: false,
    };
    idempotency.store().claim(&key, &request).await.unwrap();
    tokio::time::advance(Duration::from_secs(61)).await;
    key
}

async fn complete(idempotency: &Idempotency, order: &str) {
    let call = idempotency.call("order:consume").key(order).ttl(HOUR);
    call.run(async { Ok::<_, Error>("a secret receipt".to_owned()) }).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_somebody_stands_first() {
    let idempotency = Idempotency::memory();
    let pages = Dashboard::of(&idempotency).router();
    let empty = get(&pages, "/").await;
    assert!(empty.text.contains("Nothing waits.") && empty.text.contains("Nothing runs."), "{}", empty.text);

    complete(&idempotency, "1001").await;
    complete(&idempotency, "1001").await;
    abandon(&idempotency, "1002").await;
    let now = get(&pages, "/").await;
    assert_eq!(now.status, StatusCode::OK);
    let place = |text: &str| now.text.find(text).unwrap_or_else(|| panic!("{text} in {}", now.text));
    assert!(place("Waits for somebody") < place("order:consume:1002"));
    assert!(place("order:consume:1002") < place("In progress"));
    assert!(now.text.contains("consumer-7") && now.text.contains("1 min 1 s"), "{}", now.text);
    // What the handlers did, by outcome.
    assert!(now.text.contains("executed <b>1</b> (1)") && now.text.contains("replayed <b>1</b> (1)"), "{}", now.text);
    // It works without its script, and says what it is without colours.
    assert!(now.text.contains("lang=\"en\"") && now.text.contains("To the content"));
    assert!(now.text.contains(">abandoned</span>"));
}

/// The cells of numbers in a handler's row: duplicates caught, and how long half, and nearly all, of its claims took.
fn numbers<'a>(page: &'a str, prefix: &str) -> Vec<&'a str> {
    let (_, row) = page.split_once(&format!("<code>{prefix}</code>")).expect("a row");
    let (row, _) = row.split_once("</tr>").expect("its end");
    let cells = row.split("<td class=\"number\">").skip(1);
    cells.map(|cell| cell.split_once("</td>").expect("its end").0).collect()
}

#[tokio::test]
async fn what_the_guard_takes_and_catches_stands_with_each_handler() {
    let (slow, gate) = (FaultyStore::new(MemoryStore::new()), Gate::new("the claim"));
    slow.next(Operation::Claim, Fault::WaitsBefore(gate.clone()));
    let idempotency = Idempotency::with_store(slow);
    let pages = Dashboard::of(&idempotency).router();
    let call = idempotency.call("order:slow").key(1001).ttl(HOUR);
    let held_up = async {
        gate.reached().await;
        let held = Instant::now();
        while held.elapsed() < Duration::from_millis(20) {
            tokio::task::yield_now().await;
        }
        gate.open();
    };
    let (called, ()) = tokio::join!(call.run(async { Ok::<_, Error>(7) }), held_up);
    called.unwrap();
    for _ in 0..2 {
        complete(&idempotency, "1001").await;
    }
    let now = get(&pages, "/").await.text;
    let [caught, half, most] = numbers(&now, "order:slow")[..] else { panic!("{now}") };
    assert_eq!((caught, half), ("0", most), "one call");
    assert!(half.ends_with(" ms") && half != "1 ms", "at least 20 ms: {half}");
    let [caught, half, _] = numbers(&now, "order:consume")[..] else { panic!("{now}") };
    assert_eq!(caught, "1");
    assert_ne!(half, "–");
}

/// Nobody calls it.
#[cfg(feature = "registry")]
#[idempotent_runtime::idempotent(prefix = "order:archive", keys = [order], ttl = 24h)]
async fn archive(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[cfg(feature = "registry")]
#[tokio::test(start_paused = true)]
async fn handlers_that_nobody_has_called_are_named() {
    let now = get(&Dashboard::of(&Idempotency::memory()).router(), "/").await;
    assert!(now.text.contains("order:archive [order] for 24h: `archive` of dashboard at "), "{}", now.text);
    assert!(now.text.contains("not called yet"), "{}", now.text);
    drop(archive(7)); // it could be
}

#[tokio::test(start_paused = true)]
async fn results_are_hidden_unless_they_are_to_be_shown() {
    let idempotency = Idempotency::memory();
    complete(&idempotency, "1001").await;
    let path = "/record?key=order%3Aconsume%3A1001";
    let hidden = get(&Dashboard::of(&idempotency).router(), path).await;
    assert!(hidden.text.contains("a value of 18 bytes, hidden") && !hidden.text.contains("secret"), "{}", hidden.text);
    let shown = get(&Dashboard::of(&idempotency).show_results().router(), path).await;
    assert!(shown.text.contains("a secret receipt"), "{}", shown.text);
}

#[tokio::test(start_paused = true)]
async fn nothing_can_be_changed_unless_it_is_writable() {
    let idempotency = Idempotency::memory();
    let key = abandon(&idempotency, "1002").await;
    let pages = Dashboard::of(&idempotency).router();
    let record = get(&pages, "/record?key=order:consume:1002").await;
    assert!(!record.text.contains("/decide") && record.text.contains("read-only"), "{}", record.text);
    for path in ["/decide?what=release&key=order:consume:1002", "/decide"] {
        assert_eq!(get(&pages, path).await.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(post(&pages, &[("what", "release")], &[]).await.status, StatusCode::NOT_FOUND);
    let record = idempotency.inspect(&key).await.unwrap().unwrap();
    assert!(matches!(record.state, State::InProgress { .. }));
}

/// The form of a decision, filled in.
async fn filled<'a>(pages: &Router, what: &'a str, key: &'a str) -> Vec<(&'static str, String)> {
    let form = get(pages, &format!("/decide?what={what}&key={key}")).await;
    assert_eq!(form.status, StatusCode::OK, "{}", form.text);
    let unescape = |text: &str| text.replace("&quot;", "\"").replace("&amp;", "&");
    let kept = ["form_token", "what", "key", "seen"].map(|name| (name, unescape(field(&form.text, name))));
    let given = [("who", "grace"), ("why", "the kitchen says it was not cooked"), ("sure", "yes")];
    kept.into_iter().chain(given.map(|(name, value)| (name, value.to_owned()))).collect()
}

fn refs<'a>(fields: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    fields.iter().map(|(name, value)| (*name, &**value)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_record_is_released_and_resolved_by_a_form_of_the_page_alone() {
    let idempotency = Idempotency::memory();
    let pages = Dashboard::of(&idempotency).writable().router();
    let key = abandon(&idempotency, "1002").await;
    let form = filled(&pages, "release", "order:consume:1002").await;

    // Another site cannot send it, nor can somebody who does not confirm.
    let foreign = [("origin", "https://evil.example")];
    assert_eq!(post(&pages, &refs(&form), &foreign).await.status, StatusCode::FORBIDDEN);
    assert_eq!(post(&pages, &refs(&form), &[("sec-fetch-site", "cross-site")]).await.status, StatusCode::FORBIDDEN);
    for (name, status) in [
        ("form_token", StatusCode::FORBIDDEN),
        ("seen", StatusCode::CONFLICT),
        ("who", StatusCode::BAD_REQUEST),
        ("why", StatusCode::BAD_REQUEST),
        ("sure", StatusCode::BAD_REQUEST),
    ] {
        let mut other = form.clone();
        other.iter_mut().find(|field| field.0 == name).unwrap().1 = " ".to_owned();
        assert_eq!(post(&pages, &refs(&other), &[]).await.status, status, "{name}");
    }
    let record = idempotency.inspect(&key).await.unwrap().unwrap();
    assert!(matches!(record.state, State::InProgress { .. }), "nothing has changed");

    // The page itself can.
    let same = [("origin", "http://localhost:7070"), ("sec-fetch-site", "same-origin")];
    let done = post(&pages, &refs(&form), &same).await;
    assert_eq!(
        (done.status, &done.headers[header::LOCATION]),
        (StatusCode::SEE_OTHER, &"/record?key=order%3Aconsume%3A1002".parse().unwrap())
    );
    let record = idempotency.inspect(&key).await.unwrap().unwrap();
    let State::Failed { last_error } = record.state else { panic!("{record:?}") };
    assert_eq!(&*last_error, "the kitchen says it was not cooked");

    // It has changed since that form was shown.
    assert_eq!(post(&pages, &refs(&form), &same).await.status, StatusCode::CONFLICT);

    let key = abandon(&idempotency, "1003").await;
    let mut form = filled(&pages, "resolve", "order:consume:1003").await;
    form.extend([("result", "not JSON".to_owned()), ("ttl_hours", "24".to_owned())]);
    assert_eq!(post(&pages, &refs(&form), &same).await.status, StatusCode::BAD_REQUEST);
    let at = form.iter().position(|field| field.0 == "result").unwrap();
    form[at].1 = "\"cooked\"".to_owned();
    assert_eq!(post(&pages, &refs(&form), &same).await.status, StatusCode::SEE_OTHER);
    assert!(matches!(idempotency.inspect(&key).await.unwrap().unwrap().state, State::Completed(_)));
    let call = idempotency.call("order:consume").key("1003").ttl(HOUR);
    assert_eq!(call.run(async { Ok::<_, Error>("again".to_owned()) }).await.unwrap(), "cooked");
}

#[tokio::test]
async fn a_record_is_shown_with_what_this_process_has_seen_of_it() {
    let idempotency = Idempotency::memory();
    // Before there is a page nobody remembers anything.
    complete(&idempotency, "1001").await;
    let pages = Dashboard::of(&idempotency).writable().router();
    let record = |order: u32| format!("/record?key=order%3Aconsume%3A{order}");
    let before = get(&pages, &record(1001)).await.text;
    assert!(before.contains("completed") && !before.contains("Seen by this process"), "{before}");

    let call = idempotency.call("order:consume").key("1002").ttl(HOUR);
    let failed = call.run(async { Err::<String, Box<dyn std::error::Error + Send + Sync>>("not cooked".into()) }).await;
    assert!(failed.is_err());
    complete(&idempotency, "1002").await;
    complete(&idempotency, "1002").await;
    let key = idempotency.key("order:consume", &[&"1002"]).unwrap();
    let seen = idempotency.inspect(&key).await.unwrap().unwrap().seen();
    let decision = Decision { who: "grace <3", why: "to be made anew" };
    idempotency.remove(&key, seen, Leases::Respected, decision).await.unwrap();
    complete(&idempotency, "1002").await;
    complete(&idempotency, "1003").await;

    let page = get(&pages, &record(1002)).await.text;
    let (_, events) = page.split_once("Seen by this process").expect("a history");
    let (events, _) = events.split_once("</ol>").expect("its end");
    let order = ["executed</b>, attempt 1", "remove</b> by grace &lt;3: to be made anew", "replayed</b>, attempt 2"];
    let order = order.into_iter().chain(["executed</b>, attempt 2", "failed</b>, attempt 1"]);
    let places: Vec<_> = order.map(|event| events.find(event).unwrap_or_else(|| panic!("{event}: {events}"))).collect();
    assert!(places.is_sorted(), "the last first: {events}");
    assert_eq!(events.matches("<li>").count(), 5, "of this key alone");
}

#[tokio::test(start_paused = true)]
async fn what_stands_in_a_record_is_text_on_the_page() {
    let idempotency = Idempotency::memory();
    let pages = Dashboard::of(&idempotency).show_results().router();
    let call = idempotency.call("order:consume").key("<script>alert(1)</script>").ttl(HOUR);
    call.run(async { Ok::<_, Error>("<img src=x onerror=alert(1)>".to_owned()) }).await.unwrap();
    let list = get(&pages, "/records?state=completed").await;
    assert!(list.text.contains("order:consume:") && !list.text.contains("<script>alert"), "{}", list.text);
    let key = idempotency.key("order:consume", &[&"<script>alert(1)</script>"]).unwrap();
    let path = escape(key.as_str());
    let record = get(&pages, &format!("/record?key={path}")).await;
    assert!(record.text.contains("&lt;img src=x") && !record.text.contains("<img"), "{}", record.text);
    let policy = record.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"));
    assert_eq!(record.headers[header::CACHE_CONTROL], "no-store");
}

#[tokio::test(start_paused = true)]
async fn lists_are_filtered_and_go_on() {
    let idempotency = Idempotency::memory();
    let pages = Dashboard::of(&idempotency).router();
    for order in 0..120 {
        complete(&idempotency, &order.to_string()).await;
    }
    abandon(&idempotency, "x").await;
    let mut path = "/records?prefix=order%3Aconsume&state=completed".to_owned();
    let mut seen = 0;
    loop {
        let list = get(&pages, &path).await;
        seen += list.text.matches("<tr><th scope=\"row\">").count();
        let Some((_, further)) = list.text.split_once("<p><a href=\"") else { break };
        path = further.split_once('"').unwrap().0.replace("&amp;", "&");
    }
    assert_eq!(seen, 120);
    assert!(get(&pages, "/records?prefix=order%3Acons").await.text.contains("No record here."));
    assert_eq!(get(&pages, "/records?state=lost").await.status, StatusCode::BAD_REQUEST);
    let counts = get(&pages, "/counts").await;
    assert!(
        counts.text.contains("order:consume") && counts.text.contains(">120<") && counts.text.contains(">121<"),
        "{}",
        counts.text
    );
    assert_eq!(get(&pages, "/record?key=order:consume:none").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn links_work_wherever_it_is_mounted() {
    let idempotency = Idempotency::memory();
    complete(&idempotency, "1001").await;
    let pages = Router::new().nest("/ops/idempotency", Dashboard::of(&idempotency).router());
    let list = get(&pages, "/ops/idempotency/records").await;
    assert!(list.text.contains("href=\"/ops/idempotency/record?key=order%3Aconsume%3A1001\""), "{}", list.text);
    assert_eq!(
        get(&pages, "/ops/idempotency/style.css").await.headers[header::CONTENT_TYPE],
        "text/css; charset=utf-8"
    );
    assert_eq!(get(&pages, "/ops/idempotency").await.status, StatusCode::OK);
}
