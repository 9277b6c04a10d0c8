//! What about a server is dangerous to its records, as the store finds it.

use std::fs;
use std::time::Duration;

use idempotent_runtime::Token;
use idempotent_runtime::store::{Finding, RedisStore, Severity};
use servers::{Cluster, Fault, Proxy, Redis, RedisBinary};

use crate::clocks::another_clock;
use crate::support::{FIRST, builder, claim, key, redis, refused, until, within_bound};

/// Without how long the answer took, which a busy machine decides, and without the version, which the machine has.
async fn findings(store: &RedisStore) -> Vec<Finding> {
    let mut all = within_bound(store.check()).await.expect("it may ask");
    all.retain(|finding| !matches!(finding, Finding::Slow { .. } | Finding::NoFieldExpiry { .. }));
    all
}

/// What is serious of it.
async fn serious(store: &RedisStore) -> Vec<Finding> {
    let mut all = within_bound(store.check()).await.expect("it may ask");
    all.retain(|finding| finding.severity() == Severity::Serious);
    all
}

#[tokio::test]
async fn a_server_that_evicts_is_refused_unless_that_is_accepted() {
    for policy in ["allkeys-lru", "volatile-ttl"] {
        let settings = ["--maxmemory", "64mb", "--maxmemory-policy", policy];
        let started = Redis::builder(RedisBinary::System).args(settings).start();
        let Some(server) = servers::needed(started) else { return };
        let error = refused(within_bound(builder().connect(&server.url())).await).to_string();
        assert!(error.contains(policy) && error.contains("noeviction") && error.contains("accept_eviction"), "{error}");
        let store = within_bound(builder().accept_eviction().connect(&server.url())).await.expect("it is accepted");
        assert_eq!(claim(&store, &key(), Token::random()).await.expect("an answer"), FIRST);
        let found = findings(&store).await;
        let evicts = |finding: &&Finding| matches!(finding, Finding::Evicts { policy: found, .. } if found == policy);
        let finding = found.iter().find(evicts).expect("it evicts");
        assert_eq!(finding.severity(), Severity::Serious);

        server.cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).expect("it is set");
        within_bound(builder().connect(&server.url())).await.expect("it evicts nothing");
    }
}

#[tokio::test]
async fn a_policy_without_a_limit_evicts_nothing() {
    let started = Redis::builder(RedisBinary::System).args(["--maxmemory-policy", "allkeys-lru"]).start();
    let Some(server) = servers::needed(started) else { return };
    within_bound(builder().connect(&server.url())).await.expect("its memory has no limit");
}

#[tokio::test]
async fn persistence_and_replicas_are_looked_at() {
    let Some(server) = redis() else { return };
    let store = within_bound(builder().connect(&server.url())).await.expect("it listens");
    let name = format!("127.0.0.1:{}", server.port());
    let [persistent, replica] = [Finding::NotPersistent { server: name.clone() }, Finding::NoReplica { server: name }];
    assert_eq!(findings(&store).await, [persistent, replica.clone()]);
    assert_eq!(replica.severity(), Severity::Notice);
    server.cli(&["CONFIG", "SET", "appendonly", "yes"]).expect("it is set");
    assert_eq!(findings(&store).await, [replica]);
}

#[tokio::test]
async fn fewer_replicas_than_each_write_is_to_reach_are_serious() {
    let Some(server) = redis() else { return };
    let asks = builder().replicas(1, Duration::from_millis(100));
    let store = within_bound(asks.connect(&server.url())).await.expect("it listens");
    let server_name = format!("127.0.0.1:{}", server.port());
    let few = Finding::TooFewReplicas { server: server_name, connected: 0, asked: 1 };
    assert_eq!(few.severity(), Severity::Serious);
    assert_eq!(serious(&store).await, [few]);
    let asks_for_none = within_bound(builder().connect(&server.url())).await.expect("it listens");
    assert_eq!(serious(&asks_for_none).await, []);
}

#[tokio::test]
async fn every_primary_of_a_cluster_is_looked_at() {
    let Some(cluster) = servers::needed(Cluster::start(RedisBinary::System)) else { return };
    let store = within_bound(builder().connect(&cluster.url())).await.expect("it listens");
    let found = findings(&store).await;
    assert_eq!(found.len(), 3, "three primaries without persistence: {found:?}");
    let third = &cluster.nodes()[2];
    for (setting, value) in [("maxmemory", "64mb"), ("maxmemory-policy", "allkeys-lru")] {
        third.cli(&["CONFIG", "SET", setting, value]).expect("it is set");
    }
    let error = refused(within_bound(builder().connect(&cluster.url())).await).to_string();
    assert!(error.contains(&third.port().to_string()), "{error}");
}

#[tokio::test]
async fn a_store_that_may_not_ask_connects_all_the_same() {
    let Some(server) = redis() else { return };
    let user = ["ACL", "SETUSER", "shop", "on", ">right", "~*", "+@all", "-info"];
    server.cli(&user).expect("the user is set");
    let url = server.url().replace("redis://", "redis://shop:right@");
    let store = within_bound(builder().connect(&url)).await.expect("it listens");
    let error = refused(within_bound(store.check()).await);
    assert!(error.to_string().contains("no permissions"), "{error}");
}

#[tokio::test]
async fn a_slow_answer_is_told() {
    let Some(server) = redis() else { return };
    let proxy = Proxy::start(server.port()).expect("the proxy starts");
    let store = within_bound(builder().connect(&proxy.url(&server.url()))).await.expect("it listens");
    let round_trip = async || {
        let found = within_bound(store.check()).await.expect("it may ask");
        found.into_iter().find_map(|finding| match finding {
            Finding::Slow { round_trip, .. } => Some(round_trip),
            _ => None,
        })
    };
    let delay = Duration::from_millis(100);
    proxy.set(Fault::DelayAnswers(delay)).expect("it is slow");
    assert!(round_trip().await >= Some(delay));
    proxy.set(Fault::None).expect("it is fast");
    until_async(async || round_trip().await.is_none()).await;
}

/// A machine that is busy is slow by itself, but not each time.
async fn until_async(mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..1000 {
        if holds().await {
            return;
        }
    }
    panic!("never once");
}

#[tokio::test]
async fn only_servers_that_expire_fields_expire_single_steps() {
    for binary in RedisBinary::ALL {
        let Some(server) = servers::needed(Redis::start(*binary)) else { continue };
        let store = within_bound(builder().connect(&server.url())).await.expect("it listens");
        let found = within_bound(store.check()).await.expect("it may ask");
        let missing = found.iter().any(|finding| matches!(finding, Finding::NoFieldExpiry { .. }));
        let has_it = server.cli(&["COMMAND", "INFO", "HPEXPIRE"]).expect("it answers").list()[0] != servers::Reply::Nil;
        assert_ne!(missing, has_it, "{binary:?}: {found:?}");
    }
}

#[tokio::test]
async fn a_write_to_disk_that_failed_is_told_until_one_succeeds() {
    let started = Redis::builder(RedisBinary::System).args(["--enable-protected-configs", "yes"]).start();
    let Some(server) = servers::needed(started) else { return };
    let store = within_bound(builder().connect(&server.url())).await.expect("it listens");
    assert_eq!(serious(&store).await, []);
    fs::remove_dir_all(server.folder()).expect("its disk is gone");
    let told = |info: &str| server.cli(&["INFO", "persistence"]).expect("it answers").to_string().contains(info);
    server.cli(&["BGSAVE"]).expect("it begins");
    until("it has failed", || told("rdb_last_bgsave_status:err")).await;
    let failed =
        Finding::WriteFailed { server: format!("127.0.0.1:{}", server.port()), what: "rdb_last_bgsave_status" };
    assert_eq!(serious(&store).await, [failed]);

    // The folder that it stands in is another now; it is told to write to that.
    fs::create_dir_all(server.folder()).expect("a disk is there");
    let saved = server.folder().display().to_string();
    server.cli(&["CONFIG", "SET", "dir", &saved]).expect("it is set");
    server.cli(&["BGSAVE"]).expect("it begins");
    until("it is written", || told("rdb_last_bgsave_status:ok")).await;
    assert_eq!(serious(&store).await, []);
}

#[tokio::test]
async fn a_cluster_with_slots_that_nobody_serves_is_told() {
    let Some(cluster) = servers::needed(Cluster::start(RedisBinary::System)) else { return };
    let store = within_bound(builder().connect(&cluster.url())).await.expect("it listens");
    assert_eq!(serious(&store).await, []);
    for node in cluster.nodes() {
        node.cli(&["CLUSTER", "DELSLOTS", "7"]).expect("it forgets the slot");
    }
    let down = |node: &Redis| node.cli(&["CLUSTER", "INFO"]).expect("it answers").to_string().contains("state:fail");
    until("it is down", || cluster.nodes()[..3].iter().all(down)).await;
    let found = serious(&store).await;
    let down = |node: &Redis| Finding::ClusterDown { server: format!("127.0.0.1:{}", node.port()), unserved: 1 };
    assert_eq!(found.len(), 3, "{found:?}");
    for node in &cluster.nodes()[..3] {
        assert!(found.contains(&down(node)), "{found:?}");
    }
}

#[tokio::test]
async fn a_clock_that_differs_or_jumps_is_told() {
    let Some(server) = redis() else { return };
    let clock = another_clock(server.port());
    let store = within_bound(builder().connect(&format!("redis://{}/", clock.address))).await.expect("it listens");
    let clocks = async || {
        let mut found = findings(&store).await;
        found.retain(|finding| matches!(finding, Finding::ClockDiffers { .. } | Finding::ClockJumped { .. }));
        found
    };
    assert_eq!(clocks().await, [], "both clocks are this machine's");
    clock.set_ahead(Duration::from_mins(1));
    let found = clocks().await;
    let [Finding::ClockDiffers { by: differs, .. }, Finding::ClockJumped { by: jumped, .. }] = &found[..] else {
        panic!("{found:?}")
    };
    for by in [differs, jumped] {
        assert!(by.abs_diff(Duration::from_mins(1)) < Duration::from_secs(2), "{by:?}");
    }
    assert_eq!(found[1].severity(), Severity::Serious);
    // It stays ahead, and has not jumped again.
    let found = clocks().await;
    assert!(matches!(found[..], [Finding::ClockDiffers { .. }]), "{found:?}");
    clock.set_ahead(Duration::ZERO);
    assert!(matches!(clocks().await[..], [Finding::ClockJumped { .. }]), "back again");
}

#[tokio::test]
async fn what_is_serious_is_logged_at_connect() {
    let Some(server) = redis() else { return };
    let log = crate::logged::Log::default();
    let _subscribed = log.subscribe();
    within_bound(builder().connect(&server.url())).await.expect("it listens");
    assert_eq!(log.text(), "", "nothing is serious");
    fs::remove_dir_all(server.folder()).expect("its disk is gone");
    server.cli(&["BGSAVE"]).expect("it begins");
    let told = || server.cli(&["INFO", "persistence"]).expect("it answers").to_string();
    until("it has failed", || told().contains("rdb_last_bgsave_status:err")).await;
    within_bound(builder().connect(&server.url())).await.expect("it listens");
    let text = log.text();
    assert!(text.contains("WARN") && text.contains("failed to write to its disk") && text.contains("advice"), "{text}");
    assert!(!text.contains("no replica"), "that is only good to know: {text}");
}
