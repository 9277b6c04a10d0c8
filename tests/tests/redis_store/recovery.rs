//! From the server's return to the first call that succeeds: at most two seconds, whatever the trouble was.
//!
//! Sentinels and a Cluster have a failover of their own to wait for: their tests hold them to that and two seconds.

use std::time::Duration;

use servers::{Error, Fault, Proxy, Redis, RedisBinary};

use crate::crowd::Crowd;
use crate::support::{redis, until};

const RECOVERY: Duration = Duration::from_secs(2);

/// Longer than a call waits for the store, so that each caller is told, and calls anew.
const OUTAGE: Duration = Duration::from_millis(2500);

/// A crowd calls through an outage. The server must have returned when `back` has.
async fn recovers(url: &str, what: &str, fault: impl FnOnce(), back: impl AsyncFnOnce()) {
    let crowd = Crowd::call(url).await;
    crowd.recovery().await;
    fault();
    tokio::time::sleep(OUTAGE).await;
    // Those whose handler had returned are not refused: they wait for their result to be recorded, and call anew then.
    until("somebody has felt it", || crowd.refused() > 0).await;
    back().await;
    let recovery = crowd.recovery().await;
    assert!(recovery < RECOVERY, "{what}: {recovery:?}");
    println!("{what}: {recovery:?}; {}", crowd.end().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_dead_server_came_back_with_its_data() {
    let started = Redis::builder(RedisBinary::System).persistent().start();
    let Some(server) = servers::needed(started) else { return };
    let kill = || server.kill().expect("it dies");
    recovers(&server.url(), "dead", kill, async || server.restart().expect("it starts again")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_dead_server_came_back_empty() {
    let Some(server) = redis() else { return };
    let kill = || server.kill().expect("it dies");
    recovers(&server.url(), "empty", kill, async || server.restart_empty().expect("it starts again")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_server_stood_still() {
    let Some(server) = redis() else { return };
    let stop = || server.stop().expect("it stops");
    recovers(&server.url(), "silent", stop, async || server.cont().expect("it goes on")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_network_swallowed_everything() {
    let Some(server) = redis() else { return };
    let proxy = Proxy::start(server.port()).expect("the proxy starts");
    let swallow = || proxy.set(Fault::Drop).expect("the network is down");
    let back = async || proxy.set(Fault::None).expect("the network is back");
    recovers(&proxy.url(&server.url()), "swallowed", swallow, back).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_primary_was_demoted_and_promoted() {
    let Some(server) = redis() else { return };
    let replicate = |host: &str, port: &str| drop(server.cli(&["REPLICAOF", host, port]).expect("it answers"));
    let back = async || replicate("NO", "ONE");
    recovers(&server.url(), "demoted", || replicate("127.0.0.1", "1"), back).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_password_was_changed_and_restored() {
    let Some(server) = redis() else { return };
    let set = |password: &str| {
        let user = ["ACL", "SETUSER", "shop", "on", "resetpass", password, "~*", "+@all"];
        server.cli(&user).expect("the user is set");
    };
    set(">right");
    let change = || {
        set(">other");
        server.cli(&["CLIENT", "KILL", "USER", "shop"]).expect("its connections are closed");
    };
    let url = server.url().replace("redis://", "redis://shop:right@");
    recovers(&url, "password", change, async || set(">right")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_server_was_loading() {
    let slowly = ["--key-load-delay", "2000", "--loading-process-events-interval-bytes", "1024"];
    let started = Redis::builder(RedisBinary::System).persistent().args(slowly).start();
    let Some(server) = servers::needed(started) else { return };
    let fill = "for i = 1, 2000 do redis.call('SET', 'filler:' .. i, 'x') end";
    server.cli(&["EVAL", fill, "0"]).expect("it is filled");
    server.cli(&["BGREWRITEAOF"]).expect("it is written down");
    let written = || server.cli(&["INFO", "persistence"]).expect("it answers").to_string();
    until("it is written down", || {
        let info = written();
        info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrite_scheduled:0")
    })
    .await;
    let loading = || matches!(server.cli(&["GET", "filler:1"]), Err(Error::Refused(why)) if why.starts_with("LOADING"));
    let restart = || {
        server.restart().expect("it starts again");
        assert!(loading(), "it has loaded already");
    };
    recovers(&server.url(), "loading", restart, async || until("it has loaded", || !loading()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_were_flushed_are_no_outage() {
    let Some(server) = redis() else { return };
    let crowd = Crowd::call(&server.url()).await;
    for _ in 0..20 {
        crowd.recovery().await;
        server.cli(&["SCRIPT", "FLUSH"]).expect("the scripts are gone");
    }
    let recovery = crowd.recovery().await;
    assert!(recovery < RECOVERY, "{recovery:?}");
    assert_eq!(crowd.refused(), 0, "a caller noticed");
    let seen = crowd.end().await;
    let record = |key: &str| server.cli(&["GET", key]).expect("an answer").text().map(str::to_owned);
    assert_eq!(seen.no_run_was_repeated_but_for_lost_writes(record), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_were_cut_are_no_outage() {
    let Some(server) = redis() else { return };
    let proxy = Proxy::start(server.port()).expect("the proxy starts");
    let crowd = Crowd::call(&proxy.url(&server.url())).await;
    let mut longest = Duration::ZERO;
    for _ in 0..20 {
        crowd.recovery().await;
        assert!(proxy.cut() > 0, "there was one");
        longest = longest.max(crowd.recovery().await);
    }
    assert!(longest < RECOVERY, "{longest:?}");
    assert_eq!(crowd.refused(), 0, "a caller noticed");
    println!("cut: {longest:?}; {}", crowd.end().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_were_lost_are_no_outage() {
    let Some(server) = redis() else { return };
    let proxy = Proxy::start(server.port()).expect("the proxy starts");
    let crowd = Crowd::call(&proxy.url(&server.url())).await;
    let mut longest = Duration::ZERO;
    for lost in 1..=20 {
        crowd.recovery().await;
        // What was asked is done, and its caller does not know.
        proxy.lose_answers(1);
        until("it is lost", || proxy.answers_lost() >= lost).await;
        longest = longest.max(crowd.recovery().await);
    }
    assert!(longest < RECOVERY, "{longest:?}");
    assert_eq!(crowd.refused(), 0, "a caller noticed");
    let seen = crowd.end().await;
    println!("answers lost: {longest:?}; {seen}");
    let record = |key: &str| server.cli(&["GET", key]).expect("an answer").text().map(str::to_owned);
    assert_eq!(seen.no_run_was_repeated_but_for_lost_writes(record), 0);
}
