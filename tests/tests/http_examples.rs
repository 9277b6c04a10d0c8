//! The examples of HTTP, run as a person runs them.

#[path = "../../examples/examples/payments_api/bank.rs"]
mod bank;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use servers::{Postgres, Program, Redis, RedisBinary, needed};
use tempfile::TempDir;
use tests::example;

/// A running `payments_api`.
struct PaymentsApi {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
    /// Its temporary files, which it does not remove when it is killed.
    _folder: TempDir,
}

impl PaymentsApi {
    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new(example("payments_api"));
        command.args(options).env("TMPDIR", folder.path()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("it says where it listens");
        let address = line.trim().strip_prefix("listening on http://").expect("an address").to_owned();
        Self { child, stdout, address, _folder: folder }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for PaymentsApi {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
        drop(std::io::read_to_string(&mut self.stdout));
    }
}

/// What a person types in a block of the README, and what is shown of the answers.
fn session(readme: &str) -> (String, String) {
    let (_, block) = readme.split_once("<!-- session -->\n\n```console\n").expect("the README has a session");
    let (block, _) = block.split_once("```").expect("the block ends");
    let (mut typed, mut shown, mut goes_on) = (String::new(), String::new(), false);
    for line in block.lines() {
        let command = line.strip_prefix("$ ").or_else(|| goes_on.then_some(line));
        goes_on = command.is_some_and(|command| command.ends_with('\\'));
        let to = if command.is_some() { &mut typed } else { &mut shown };
        *to += command.unwrap_or(line);
        *to += "\n";
    }
    (typed, shown)
}

#[test]
fn payments_api_answers_as_the_readme_shows() {
    if needed(Program::Curl.find()).is_none() {
        return;
    }
    let api = PaymentsApi::start(&[]);
    let (typed, shown) = session(include_str!("../../README.md"));
    let script = typed.replace("localhost:3000", &api.address);
    assert_ne!(script, typed, "it is sent to this server");
    let output = Command::new("bash").args(["-c", &script]).output().expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), shown, "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn payments_api_listens_where_it_is_told() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let api = PaymentsApi::start(&["--port", &free.to_string()]);
    assert_eq!(api.address, format!("127.0.0.1:{free}"));
    assert_eq!(reqwest::get(api.url("/idempotency")).await.expect("an answer").status(), 200);
}

#[tokio::test]
async fn payments_api_on_redis_refunds_once_and_publishes_its_rules() {
    let Some(redis) = needed(Redis::start(RedisBinary::System)) else { return };
    refunds_once_and_publishes_its_rules(&redis.url()).await;
}

#[tokio::test]
async fn payments_api_on_postgresql_refunds_once_and_publishes_its_rules() {
    let Some(postgres) = needed(Postgres::start()) else { return };
    refunds_once_and_publishes_its_rules(&postgres.url()).await;
}

async fn refunds_once_and_publishes_its_rules(store: &str) {
    let api = PaymentsApi::start(&["--store", store, "--bank", "10ms"]);
    let client = reqwest::Client::new();
    let send = async |path: &str, key: &str, who: &str, body: Value| {
        let request = client.post(api.url(path)).bearer_auth(who).header("idempotency-key", format!("\"{key}\""));
        let response = request.json(&body).timeout(Duration::from_mins(1)).send().await.expect("an answer");
        let (status, replayed) = (response.status().as_u16(), response.headers().contains_key("idempotent-replayed"));
        (status, replayed, response.json::<Value>().await.unwrap_or_default())
    };
    let (status, _, paid) = send("/payments", "k", "ada", json!({"amount_minor": 1200, "currency": "EUR"})).await;
    assert_eq!((status, &paid["id"]), (201, &json!("pay_1")));
    for replayed in [false, true] {
        let refund = send("/payments/pay_1/refunds", "r", "ada", json!({"amount_minor": 200})).await;
        assert_eq!(refund, (201, replayed, json!({"id": "ref_1", "payment": "pay_1", "amount_minor": 200})));
    }
    let (status, ..) = send("/payments/pay_1/refunds", "s", "ada", json!({"amount_minor": 1001})).await;
    assert_eq!(status, 400, "1000 are left");
    let (status, ..) = send("/payments/pay_1/refunds", "r", "bob", json!({"amount_minor": 200})).await;
    assert_eq!(status, 404, "another customer, another key, and not his payment");

    let nobody = client.post(api.url("/payments")).header("idempotency-key", "k").send().await.expect("an answer");
    assert_eq!(nobody.status(), 401);
    let rules = client.get(api.url("/idempotency")).send().await.expect("an answer");
    assert_eq!(rules.json::<Value>().await.expect("JSON")["expires_after_seconds"], 86400);
}

#[tokio::test]
async fn the_bank_takes_what_has_no_key_for_nothing_that_came_before() {
    let bank = bank::Bank::new(Duration::ZERO);
    let pay = async |key: Option<&str>| {
        let payment = bank.pay(key.map(str::to_owned), "ada".into(), 1200, "EUR".into()).await.expect("it is paid");
        bank.refund(key.map(str::to_owned), "ada", &payment.id, 200).await.expect("it is refunded");
        payment.id
    };
    assert_eq!([pay(None).await, pay(None).await], ["pay_1", "pay_2"]);
    assert_eq!([pay(Some("k")).await, pay(Some("k")).await], ["pay_3", "pay_3"], "the control");
}

#[test]
fn webhooks_ships_each_order_once() {
    let output = Command::new(example("webhooks")).output().expect("it runs");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    for line in [
        "  evt_1   order:paid:1001   executed  shipped",
        "  evt_1   order:paid:1001   replayed  nothing is shipped",
        "  evt_2   order:paid:1001   replayed  nothing is shipped",
        "  evt_3   order:paid:1001   mismatch  nothing is shipped",
        "  evt_4   order:paid:1002   failed    nothing is shipped",
        "  evt_5   order:paid:1002   executed  shipped",
        "Six reports, answered [200, 200, 200, 422, 503, 200]; 2 parcels.",
    ] {
        assert!(said.lines().any(|said| said == line), "{line}\nin\n{said}");
    }
}
