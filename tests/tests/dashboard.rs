//! The page for whoever is on duty, in a real browser: by mouse, by keyboard, in the dark, and without JavaScript.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use fantoccini::key::Key;
use fantoccini::{Client, ClientBuilder, Locator};
use idempotent_runtime::admin::State;
use idempotent_runtime::dashboard::Dashboard;
use idempotent_runtime::store::{ClaimRequest, OnLapse, Retention};
use idempotent_runtime::{Error, Idempotency, Token};
use serde_json::{Map, Value, json};
use servers::{Browser, needed};
use tokio::net::TcpListener;

const PATIENCE: Duration = Duration::from_mins(1);

/// Serves the pages on a free port.
async fn serve(dashboard: Dashboard) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let url = format!("http://{}/duty", listener.local_addr().expect("an address"));
    let pages = Router::new().nest("/duty", dashboard.router());
    tokio::spawn(async move { axum::serve(listener, pages).await });
    url
}

async fn open(browser: &Browser, further: Option<(&str, Value)>) -> Client {
    let mut asked: Map<String, Value> = serde_json::from_str(&browser.capabilities()).expect("JSON");
    if let Some((name, value)) = further {
        asked["goog:chromeOptions"][name] = value;
    }
    let mut client = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
    client.capabilities(asked);
    client.connect(&browser.url()).await.expect("a session")
}

/// Two records that wait for somebody, and one that is done.
async fn some_trouble(idempotency: &Idempotency) {
    for order in ["1002", "1003"] {
        let key = idempotency.key("order:consume", &[&order]).expect("a key");
        let request = ClaimRequest {
            token: Token::random(),
            owner: "consumer-7",
            fingerprint: None,
            lease: Duration::from_millis(10),
            retention: Retention::For(Duration::from_hours(1)),
            held: Retention::Forever,
            on_lapse: OnLapse::Hold,
            max_attempts: None,
            supersede: None,
            begun: true,
            fenced: false,
        };
        idempotency.store().claim(&key, &request).await.expect("claimed");
    }
    for _ in 0..2 {
        let call = idempotency.call("order:consume").key(1001).ttl(Duration::from_hours(1));
        call.run(async { Ok::<_, Error>("cooked".to_owned()) }).await.expect("it runs");
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
}

async fn state(idempotency: &Idempotency, order: &str) -> State {
    let key = idempotency.key("order:consume", &[&order]).expect("a key");
    idempotency.inspect(&key).await.expect("an answer").expect("a record").state
}

async fn text(client: &Client, css: &str) -> String {
    let element = client.wait().at_most(PATIENCE).for_element(Locator::Css(css)).await.expect(css);
    element.text().await.expect("text")
}

/// Keeps what the browser shows, where somebody asks for it: for the documentation.
async fn picture(client: &Client, name: &str) {
    let Some(folder) = std::env::var_os("IDEMPOTENT_SCREENSHOTS") else { return };
    let png = client.screenshot().await.expect("a picture");
    std::fs::write(PathBuf::from(folder).join(name), png).expect("written");
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_releases_one_record_and_resolves_another() {
    let Some(browser) = needed(tokio::task::spawn_blocking(Browser::start).await.expect("it returns")) else { return };
    let idempotency = Idempotency::memory();
    some_trouble(&idempotency).await;
    let url = serve(Dashboard::of(&idempotency).writable()).await;
    let client = open(&browser, None).await;

    // What waits stands first; from there to the record, and to the decision, by mouse.
    client.goto(&url).await.expect("the page");
    assert!(text(&client, "section table").await.contains("order:consume:1002"));
    picture(&client, "dashboard-now.png").await;
    client.find(Locator::LinkText("order:consume:1002")).await.expect("a link").click().await.expect("clicked");
    assert!(text(&client, "dl").await.contains("has begun"));
    picture(&client, "dashboard-record.png").await;
    client.find(Locator::LinkText("Release it")).await.expect("a link").click().await.expect("clicked");
    let form = client.wait().at_most(PATIENCE).for_element(Locator::Css("form.decision")).await.expect("a form");
    form.find(Locator::Css("input[name=who]")).await.expect("who").send_keys("grace").await.expect("typed");
    form.find(Locator::Css("input[name=why]")).await.expect("why").send_keys("it was not cooked").await.expect("typed");

    // Not confirmed, the browser does not send it.
    form.find(Locator::Css("button")).await.expect("a button").click().await.expect("clicked");
    assert!(matches!(state(&idempotency, "1002").await, State::InProgress { .. }));
    form.find(Locator::Css("input[name=sure]")).await.expect("sure").click().await.expect("ticked");
    picture(&client, "dashboard-decide.png").await;
    form.find(Locator::Css("button")).await.expect("a button").click().await.expect("clicked");
    assert!(text(&client, "dl pre").await.contains("it was not cooked"));
    assert!(matches!(state(&idempotency, "1002").await, State::Failed { .. }));

    // The other one by keyboard alone: `/` goes to the search, Tab from field to field, space and Enter decide.
    let keys = async |text: &str| {
        client.active_element().await.expect("a focus").send_keys(text).await.expect("typed");
    };
    keys("/").await;
    keys("order:consume:1003").await;
    keys(&Key::Enter.to_string()).await;
    let choice = Locator::LinkText("Resolve it");
    client.wait().at_most(PATIENCE).for_element(choice).await.expect("a choice");
    let focused = async |wanted: &str| {
        for _ in 0..60 {
            keys(&Key::Tab.to_string()).await;
            let element = client.active_element().await.expect("a focus");
            let name = element.attr("name").await.expect("an answer").unwrap_or_default();
            if name == wanted || element.text().await.expect("text") == wanted {
                return;
            }
        }
        panic!("Tab does not come to {wanted}");
    };
    focused("Resolve it").await;
    keys(&Key::Enter.to_string()).await;
    client.wait().at_most(PATIENCE).for_element(Locator::Css("form.decision")).await.expect("a form");
    for (field, typed) in [("result", "\"cooked\""), ("who", "grace"), ("why", "the kitchen says so"), ("sure", " ")] {
        focused(field).await;
        keys(typed).await;
    }
    focused("Resolve").await;
    keys(&Key::Enter.to_string()).await;
    client.wait().at_most(PATIENCE).for_element(Locator::Css("dl .completed")).await.expect("it is completed");
    assert!(matches!(state(&idempotency, "1003").await, State::Completed(_)));
    client.close().await.expect("closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_read_in_the_dark_and_without_javascript() {
    let Some(browser) = needed(tokio::task::spawn_blocking(Browser::start).await.expect("it returns")) else { return };
    let idempotency = Idempotency::memory();
    some_trouble(&idempotency).await;
    let url = serve(Dashboard::of(&idempotency)).await;
    let ground = async |client: &Client| {
        client.find(Locator::Css("body")).await.expect("a body").css_value("background-color").await.expect("a colour")
    };

    let client = open(&browser, None).await;
    client.goto(&url).await.expect("the page");
    assert_eq!(ground(&client).await, "rgba(252, 252, 253, 1)");
    // A page that is looked at stays fresh.
    let rows = client.find_all(Locator::Css("section:first-of-type tbody tr")).await.expect("rows").len();
    assert_eq!(rows, 2);
    let key = idempotency.key("order:consume", &[&"1002"]).expect("a key");
    let seen = idempotency.inspect(&key).await.expect("an answer").expect("a record");
    let decision = idempotent_runtime::admin::Decision { who: "grace", why: "it was not cooked" };
    idempotency.release(&key, &seen, decision).await.expect("released");
    let only = Locator::XPath("//section[1]//tbody[count(tr)=1]");
    client.wait().at_most(PATIENCE).for_element(only).await.expect("one row, without a click");
    client.close().await.expect("closed");

    let without = json!({"profile.managed_default_content_settings.javascript": 2});
    let client = open(&browser, Some(("prefs", without))).await;
    client.goto("data:text/html,<script>document.title='it runs'</script>").await.expect("a page");
    assert_eq!(client.title().await.expect("a title"), "", "JavaScript is off");
    client.goto(&url).await.expect("the page");
    assert!(text(&client, "section table").await.contains("order:consume:1003"));
    client.find(Locator::LinkText("Records")).await.expect("a link").click().await.expect("clicked");
    assert!(text(&client, "main table").await.contains("order:consume:1001"));
    client.find(Locator::LinkText("Counts")).await.expect("a link").click().await.expect("clicked");
    assert!(text(&client, "tfoot").await.contains('3'));
    client.close().await.expect("closed");

    let mut asked: Map<String, Value> = serde_json::from_str(&browser.capabilities()).expect("JSON");
    let arguments = asked["goog:chromeOptions"]["args"].as_array_mut().expect("arguments");
    arguments.push(json!("--blink-settings=preferredColorScheme=0"));
    let mut dark = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
    dark.capabilities(asked);
    let client = dark.connect(&browser.url()).await.expect("a session");
    client.goto(&url).await.expect("the page");
    assert_eq!(ground(&client).await, "rgba(20, 23, 26, 1)");
    picture(&client, "dashboard-dark.png").await;
    client.close().await.expect("closed");
}
