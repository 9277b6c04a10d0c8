//! The examples, run as a person runs them.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use lapin::options::{BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use servers::{Program, RabbitMq, Redis, RedisBinary, needed};
use tests::example;

/// A machine that is busy takes long for everything.
const PATIENCE: Duration = Duration::from_mins(2);

#[test]
fn quickstart_prints_what_the_readme_shows() {
    let readme = include_str!("../../README.md");
    let (_, shown) = readme.split_once("$ cargo run --example quickstart\n").expect("the README shows its output");
    let (shown, _) = shown.split_once("```").expect("the block ends");
    let output = Command::new(example("quickstart")).output().expect("it runs");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), shown);
}

#[test]
fn order_init_gives_every_retry_the_token_first_written() {
    if needed(Program::RedisServer.find()).is_none() {
        return;
    }
    let output = Command::new(example("order_init")).output().expect("it runs");
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}");
    let line = |start: &str| said.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or("nothing");
    assert_eq!(line("request 1"), "  request 1: no answer in time");
    assert_eq!(line("request 4"), "  request 4: token tok-1, open with tok-1");
    assert_eq!(line("Tokens"), "Tokens that the gateway made: 1");
    assert!(!said.contains("tok-2"), "{said}");

    // The two views of the Hash: one step in progress, then both completed.
    let views: Vec<&str> = said.split("$ redis-cli HGETALL order:init:20260827:1001\n").skip(1).collect();
    let [before, after] = views.as_slice() else { panic!("two views in {said}") };
    assert!(
        before.contains("1) \"init_token\"") && before.contains(" 1p ") && !before.contains("payment_status"),
        "{said}"
    );
    for step in ["\"init_token\"", "\"payment_status\"", "=\\\"tok-1\\\"", "=\\\"open with tok-1\\\""] {
        assert!(after.contains(step), "{step} in {said}");
    }
}

#[test]
fn order_consumer_carries_out_every_disposition_and_stops_gracefully() {
    let Some(redis) = needed(Redis::start(RedisBinary::System)) else { return };
    let Some(rabbit) = needed(RabbitMq::start()) else { return };
    let mut consumer = Consumer::start(&rabbit.url(), &redis.url());
    consumer.wait_for(1, &["consuming"]);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let connection = Connection::connect(&rabbit.url(), ConnectionProperties::default()).await.expect("connected");
        let channel = connection.create_channel().await.expect("a channel");
        channel.confirm_select(ConfirmSelectOptions::default()).await.expect("confirms");

        // A first delivery and a duplicate under another message id, as a producer sends it that retries.
        publish(&channel, "m-1", &order(1001, "dumplings")).await;
        consumer.wait_for(1, &["order:consume:1001:7", "first", "executed", "ack", "dumplings"]);
        publish(&channel, "m-2", &order(1001, "dumplings")).await;
        consumer.wait_for(1, &["order:consume:1001:7", "repeat", "replayed", "ack", "dumplings"]);

        // The kitchen fails: it comes back after a second, and is prepared then.
        publish(&channel, "m-3", &order(1002, "soufflé")).await;
        let failed = consumer.wait_for(1, &["order:consume:1002:7", "first", "failed", "retry in 1000 ms", "oven"]);
        let executed = consumer.wait_for(1, &["order:consume:1002:7", "repeat", "executed", "ack", "soufflé"]);
        assert!(executed - failed >= Duration::from_secs(1), "it came back after {:?}", executed - failed);

        // What a person must see: another dish under the key of an order, and what is no order at all.
        publish(&channel, "m-4", &order(1001, "noodles")).await;
        consumer.wait_for(1, &["order:consume:1001:7", "repeat", "mismatch", "dead letter"]);
        publish(&channel, "m-5", "two noodles, please").await;
        consumer.wait_for(1, &["not an order", "dead letter"]);
        assert_eq!(dead_letter(&channel).await, ("m-4".to_owned(), true));
        assert_eq!(dead_letter(&channel).await, ("m-5".to_owned(), true));

        // Two deliveries of one order at the same moment: one has to come back, and both are acknowledged.
        publish(&channel, "m-6", &order(1003, "noodles")).await;
        publish(&channel, "m-7", &order(1003, "noodles")).await;
        consumer.wait_for(1, &["order:consume:1003:7", "repeat", "busy", "retry in"]);
        consumer.wait_for(1, &["order:consume:1003:7", "first", "executed", "ack"]);
        consumer.wait_for(1, &["order:consume:1003:7", "repeat", "replayed", "ack"]);

        // Asked to stop in the middle of a run, it finishes it.
        publish(&channel, "m-8", &order(1004, "noodles")).await;
        thread::sleep(Duration::from_millis(100)); // the kitchen needs twice as long; either way nothing may be left
        consumer.stop();
        consumer.wait_for(1, &["stopped"]);
        let done = consumer.lines.iter().filter(|(_, line)| line.contains("1004:7")).count();
        let left = waiting(&channel, "orders").await;
        assert_eq!(done + left, 1, "done {done} times, {left} left in the queue");
        assert_eq!(waiting(&channel, "orders.dead").await, 0);
    });
    assert!(consumer.child.wait().expect("it ended").success());
}

#[test]
fn storm_prepares_every_order_once() {
    let Some(summary) = storm(&["--orders", "100", "--consumers", "20", "--work", "10ms"]) else { return };
    let expected = [
        ("published", 300),
        ("settled", 300),
        ("runs", 100),
        ("interrupted_runs", 0),
        ("replayed", 200),
        ("orders_completed", 100),
        ("wrongly_dropped", 0),
        ("overlapping", 0),
        ("kills", 0),
    ];
    for (name, count) in expected {
        assert_eq!(summary[name], count, "{name} in {summary}");
    }
    assert_eq!(summary["requeued"], summary["busy"], "{summary}");
    for name in ["guard_us_mean", "guard_us_p50", "guard_us_p99", "redis_bytes_per_record"] {
        assert!(summary[name].as_u64() > Some(0), "{name} in {summary}");
    }
}

#[test]
fn storm_of_kills_loses_nothing() {
    let options = ["--orders", "100", "--consumers", "20", "--work", "100ms", "--kill-every", "400ms"];
    let Some(summary) = storm(&options) else { return };
    for (name, count) in
        [("published", 300), ("settled", 300), ("orders_completed", 100), ("wrongly_dropped", 0), ("overlapping", 0)]
    {
        assert_eq!(summary[name], count, "{name} in {summary}");
    }
    let count = |name: &str| summary[name].as_u64().expect("a count");
    assert!(count("kills") > 0 && count("interrupted_runs") > 0, "{summary}");
    assert!(count("runs") <= 100 + count("interrupted_runs"), "{summary}");
}

#[test]
fn storm_of_kills_and_stops_fences_off_what_comes_too_late() {
    let harm = ["--kill-every", "500ms", "--stop-every", "600ms", "--for", "8s"];
    let work = ["--orders", "60", "--consumers", "20", "--work", "100ms"];
    let Some(summary) = storm(&[harm, work].concat()) else { return };
    let count = |name: &str| summary[name].as_u64().expect("a count");
    assert_eq!(count("settled"), count("published"), "{summary}");
    assert_eq!(count("orders_completed"), count("published") / 3, "{summary}");
    for name in ["wrongly_dropped", "overlapping", "accepted_below_fence", "refused_wrongly"] {
        assert_eq!(count(name), 0, "{name} in {summary}");
    }
    for name in ["kills", "stops", "overlapping_stopped", "effects_accepted"] {
        assert!(count(name) > 0, "{name} in {summary}");
    }
    assert!(count("published") > 180, "new orders came as others were settled: {summary}");
    assert_eq!(count("effects_refused"), count("stale_effects"), "{summary}");
}

#[test]
fn storm_that_is_not_over_in_time_says_what_is_missing() {
    if needed(servers_for_a_storm()).is_none() {
        return;
    }
    let output = run_storm(&["--orders", "10", "--copies", "1", "--work", "10s", "--within", "1s"]);
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("given up after 1s"), "{error}");
    assert!(error.contains("10 of 10 orders are not completed"), "{error}");
}

/// Runs a storm that starts its own servers; gives its summary.
fn storm(options: &[&str]) -> Option<Value> {
    needed(servers_for_a_storm())?;
    let output = run_storm(options);
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}");
    Some(serde_json::from_str(&said).expect("one JSON object"))
}

fn servers_for_a_storm() -> Result<(), servers::Error> {
    Program::RedisServer.find()?;
    Program::RabbitMq.find()?;
    Ok(())
}

fn run_storm(options: &[&str]) -> Output {
    let mut storm = Command::new(example("storm"));
    storm.arg("--json").args(options).env("RUST_BACKTRACE", "0").output().expect("it runs")
}

/// A running `order_consumer`, and what it has said.
struct Consumer {
    child: Child,
    inbox: Receiver<(Instant, String)>,
    lines: Vec<(Instant, String)>,
}

impl Consumer {
    fn start(amqp: &str, redis: &str) -> Self {
        let mut child = Command::new(example("order_consumer"))
            .args(["--amqp", amqp, "--redis", redis])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (lines, inbox) = mpsc::channel();
        thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| lines.send((Instant::now(), line)))
        });
        Self { child, inbox, lines: Vec::new() }
    }

    /// Waits until it has said so many lines with all these words; gives the moment of the last.
    fn wait_for(&mut self, count: usize, words: &[&str]) -> Instant {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let is_it = |line: &str| words.iter().all(|word| line.contains(word));
            if let Some((moment, _)) = self.lines.iter().filter(|(_, line)| is_it(line)).nth(count - 1) {
                return *moment;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.inbox.recv_timeout(left) else {
                panic!("no line with {words:?} in {:#?}", self.lines);
            };
            self.lines.push(line);
        }
    }

    fn stop(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("it runs");
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn order(order_id: u64, dish: &str) -> String {
    serde_json::json!({ "order_id": order_id, "activity_id": 7, "dish": dish }).to_string()
}

async fn publish(channel: &Channel, message_id: &str, message: &str) {
    let properties = BasicProperties::default().with_message_id(message_id.into());
    let options = BasicPublishOptions::default();
    let publication = channel.basic_publish("".into(), "orders".into(), options, message.as_bytes(), properties);
    let confirmation = publication.await.expect("sent").await.expect("confirmed");
    assert!(confirmation.is_ack());
}

/// Takes a dead letter: its message id, and whether it says why it is there.
async fn dead_letter(channel: &Channel) -> (String, bool) {
    let options = BasicGetOptions { no_ack: true };
    let letter = channel.basic_get("orders.dead".into(), options).await.expect("an answer").expect("a dead letter");
    let properties = &letter.delivery.properties;
    let says_why = properties.headers().as_ref().is_some_and(|headers| headers.contains_key("x-reason"));
    (properties.message_id().as_ref().map(ToString::to_string).unwrap_or_default(), says_why)
}

async fn waiting(channel: &Channel, queue: &str) -> usize {
    let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let queue = channel.queue_declare(queue.into(), options, FieldTable::default()).await.expect("the queue");
    queue.message_count().try_into().expect("a small number")
}
