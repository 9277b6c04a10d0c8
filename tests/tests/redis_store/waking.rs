//! Who waits for another's run is woken when it ends, and looks by itself where that cannot be.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use idempotent_runtime::{CallBuilder, Error, Idempotency, OnBusy};
use servers::{Cluster, Redis, RedisBinary, Sentinels};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::support::{builder, redis, until};

/// So long after a run has begun to be waited for, a waiter that nobody wakes looks every 300 ms or more seldom.
const SELDOM: Duration = Duration::from_millis(700);

/// What waking takes at the most, on a machine that is busy.
const SOON: Duration = Duration::from_millis(100);

/// A run that goes on until it is let go, and those who wait for it.
struct Run {
    key: u64,
    gate: watch::Sender<bool>,
    runner: JoinHandle<u64>,
    waiters: Vec<JoinHandle<Instant>>,
}

impl Run {
    /// Begins a run in one process, and waits for it in another.
    async fn begin(runs: &Idempotency, waits: &Idempotency, key: u64, waiters: usize) -> Self {
        let (gate, mut open) = watch::channel(false);
        let (tell, told) = tokio::sync::oneshot::channel();
        let call = call(runs, key);
        let runner = tokio::spawn(async move {
            let body = async move {
                tell.send(()).expect("the test waits for it");
                open.wait_for(|open| *open).await.expect("the test is still there");
                Ok::<_, Error>(key)
            };
            call.run(body).await.expect("the run goes through")
        });
        told.await.expect("the run begins");
        let waiters = (0..waiters).map(|_| tokio::spawn(waiter(waits.clone(), key))).collect();
        Self { key, gate, runner, waiters }
    }

    /// Lets the run end; how long each waiter then took.
    async fn end(self) -> Vec<Duration> {
        self.gate.send_replace(true);
        assert_eq!(self.runner.await.expect("no panic"), self.key);
        let ended = Instant::now();
        let answered = join_all(self.waiters).await;
        answered.into_iter().map(|at| at.expect("no panic").saturating_duration_since(ended)).collect()
    }
}

async fn waiter(waits: Idempotency, key: u64) -> Instant {
    let value = call(&waits, key).run(runs_not()).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(value, key);
    Instant::now()
}

async fn runs_not() -> Result<u64, Error> {
    panic!("a waiter does not run")
}

fn call(idempotency: &Idempotency, key: u64) -> CallBuilder {
    idempotency.call("order").key(key).ttl(Duration::from_mins(10)).on_busy(OnBusy::Wait(Duration::from_secs(30)))
}

fn text(key: u64) -> String {
    format!("order:{key}")
}

fn channel(key: u64) -> String {
    format!("idempotent:ended:{{order:{key}}}")
}

/// Handles of two processes.
async fn two(url: &str) -> (Idempotency, Idempotency) {
    (one(url).await, one(url).await)
}

async fn one(url: &str) -> Idempotency {
    Idempotency::with_store(builder().connect(url).await.expect("the server was started for this"))
}

/// How many subscriptions a server has for a key.
fn subscriptions(server: &Redis, question: &str, key: u64) -> i64 {
    let answer = server.cli(&["PUBSUB", question, &channel(key)]).expect("the server answers");
    answer.list()[1].integer().expect("a number")
}

async fn is_subscribed(server: &Redis, key: u64) {
    until("the waiters subscribe", || subscriptions(server, "NUMSUB", key) == 1).await;
}

/// Waits until nobody who is not woken would look in time.
async fn until_looks_are_seldom() {
    tokio::time::sleep(SELDOM).await;
}

#[track_caller]
fn soon(took: &[Duration]) {
    assert!(took.iter().all(|time| *time < SOON), "{took:?}");
}

/// Waiters of ten keys are woken when their runs end.
async fn waiters_are_woken(url: &str) {
    let (runs, waits) = two(url).await;
    let mut all = Vec::new();
    for key in 0..10 {
        all.push(Run::begin(&runs, &waits, key, 1).await);
    }
    until_looks_are_seldom().await;
    let mut took = Vec::new();
    for run in all {
        took.extend(run.end().await);
    }
    println!("woken after {took:?}");
    soon(&took);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_are_woken_by_redis_7_0() {
    let Some(server) = redis() else { return };
    waiters_are_woken(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_are_woken_by_redis_8_2() {
    let Some(server) = servers::needed(Redis::start(RedisBinary::Redis8_2)) else { return };
    waiters_are_woken(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_are_woken_by_valkey_9_1() {
    let Some(server) = servers::needed(Redis::start(RedisBinary::Valkey9_1)) else { return };
    waiters_are_woken(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_are_woken_behind_sentinels() {
    let Some(sentinels) = servers::needed(Sentinels::start()) else { return };
    waiters_are_woken(&sentinels.url()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_are_woken_in_a_cluster() {
    let Some(cluster) = servers::needed(Cluster::start(RedisBinary::System)) else { return };
    waiters_are_woken(&cluster.url()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_follow_a_slot_that_moves() {
    let Some(cluster) = servers::needed(Cluster::start(RedisBinary::System)) else { return };
    let (runs, waits) = two(&cluster.url()).await;
    let run = Run::begin(&runs, &waits, 1, 1).await;
    let slot = Cluster::slot(&text(1));
    let from = cluster.primary_of(slot).expect("there is one");
    let to = cluster.nodes()[..3].iter().find(|node| node.port() != from.port()).expect("there are three");
    until("the waiter subscribes", || subscriptions(from, "SHARDNUMSUB", 1) == 1).await;
    cluster.begin_migration(slot, from, to).expect("both agree");
    cluster.end_migration(slot, from, to).expect("both agree");
    until("the waiter subscribes at the other node", || subscriptions(to, "SHARDNUMSUB", 1) == 1).await;
    until_looks_are_seldom().await;
    soon(&run.end().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_waiters_are_one_subscription() {
    let Some(server) = redis() else { return };
    let (runs, waits) = two(&server.url()).await;
    let run = Run::begin(&runs, &waits, 1, 1000).await;
    is_subscribed(&server, 1).await;
    until_looks_are_seldom().await;
    assert_eq!(subscriptions(&server, "NUMSUB", 1), 1);
    let listening = server.cli(&["CLIENT", "LIST", "TYPE", "pubsub"]).expect("the server answers").to_string();
    assert_eq!(listening.lines().count(), 1, "{listening}");
    assert_eq!(run.end().await.len(), 1000, "each has the value");
    until("nobody is subscribed", || subscriptions(&server, "NUMSUB", 1) == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_subscribe_again_when_their_connection_is_killed() {
    let Some(server) = redis() else { return };
    let (runs, waits) = two(&server.url()).await;
    let run = Run::begin(&runs, &waits, 1, 3).await;
    is_subscribed(&server, 1).await;
    let killed = server.cli(&["CLIENT", "KILL", "TYPE", "pubsub"]).expect("the server answers");
    assert_eq!(killed.integer(), Some(1));
    is_subscribed(&server, 1).await;
    until_looks_are_seldom().await;
    soon(&run.end().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_ends_while_nobody_listens_is_seen_by_a_look() {
    let Some(server) = redis() else { return };
    let (runs, waits) = two(&server.url()).await;
    let run = Run::begin(&runs, &waits, 1, 3).await;
    is_subscribed(&server, 1).await;
    until_looks_are_seldom().await;
    run.gate.send_replace(true);
    let killed = server.cli(&["CLIENT", "KILL", "TYPE", "pubsub"]).expect("the server answers");
    assert_eq!(killed.integer(), Some(1));
    // The message came, or the loss of the connection woke them: one of both.
    soon(&run.end().await);
}

#[test]
fn waiters_are_woken_after_the_runtime_that_listened_has_ended() {
    let Some(server) = redis() else { return };
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let mut runtime = || builder.worker_threads(1).enable_all().build().expect("a runtime starts");
    let (first, second) = (runtime(), runtime());
    let (runs, waits) = second.block_on(two(&server.url()));
    let mut run = second.block_on(Run::begin(&runs, &waits, 1, 0));
    let listener = || server.cli(&["CLIENT", "LIST", "TYPE", "pubsub"]).expect("the server answers").to_string();
    first.spawn(waiter(waits.clone(), 1));
    second.block_on(async {
        until("the first waiter subscribes", || listener().contains("sub=1")).await;
        let before = listener();
        run.waiters.push(tokio::spawn(waiter(waits.clone(), 1)));
        first.shutdown_background();
        let id = before.split(' ').next().expect("the number of a connection");
        until("the second subscribes", || listener().contains("sub=1") && !listener().contains(id)).await;
        until_looks_are_seldom().await;
        soon(&run.end().await);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_runs_that_somebody_can_wait_for_are_told() {
    let Some(server) = redis() else { return };
    let (runs, waits) = two(&server.url()).await;
    for key in 0..100 {
        call(&runs, key).run(async { Ok::<_, Error>(key) }).await.expect("the run goes through");
    }
    let published = || {
        let stats = server.cli(&["INFO", "commandstats"]).expect("the server answers").to_string();
        stats.lines().find_map(|line| line.strip_prefix("cmdstat_publish:calls=")?.split(',').next()?.parse().ok())
    };
    // A machine that is busy may hold some of them up for long enough.
    let brief = published().unwrap_or(0);
    assert!(brief < 50, "{brief} of a hundred brief runs were told");
    let run = Run::begin(&runs, &waits, 1000, 0).await;
    until_looks_are_seldom().await;
    run.end().await;
    assert_eq!(published(), Some(brief + 1));
}

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn warnings(&self) -> usize {
        String::from_utf8_lossy(&self.0.lock().expect("no panic")).matches("are not woken, and poll").count()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
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

#[tokio::test]
async fn who_may_not_listen_polls_and_says_so_once() {
    let Some(server) = redis() else { return };
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).finish();
    let _default = tracing::subscriber::set_default(subscriber);
    for (user, channels) in [("deaf", "resetchannels"), ("heard", "&idempotent:ended:*")] {
        server.cli(&["ACL", "SETUSER", user, "on", ">secret", "~*", "+@all", channels]).expect("the user is made");
    }
    let url = |user: &str| server.url().replace("redis://", &format!("redis://{user}:secret@"));
    let (runs, waits) = two(&url("deaf")).await;
    for key in 100..103 {
        let run = Run::begin(&runs, &waits, key, 3).await;
        until_looks_are_seldom().await;
        assert_eq!(subscriptions(&server, "NUMSUB", key), 0);
        // It looks every quarter of a second at least.
        let took = run.end().await;
        assert!(took.iter().all(|time| *time < 4 * SOON), "{took:?}");
    }
    assert_eq!(log.warnings(), 1);
    // With the permission that the warning names.
    waiters_are_woken(&url("heard")).await;
    assert_eq!(log.warnings(), 1);
}
