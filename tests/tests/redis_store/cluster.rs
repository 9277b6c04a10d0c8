//! A Cluster of six nodes: the contract, and calls that go on while nodes go and slots move.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use idempotent_runtime::store::{Answer, ClaimAnswer, CompleteAnswer, RedisStore, Store as _};
use idempotent_runtime::{Idempotency, Key, Token};
use servers::{Cluster, Redis, RedisBinary};

use crate::conformance::{Servers, every_case_holds};
use crate::crowd::Crowd;
use crate::support::{
    FIRST, builder, claim, clients, complete, key, redis, refused, renew, store, unavailable, until, within_bound,
};

/// A node is taken for gone after 3 s, its replica waits up to 1 s, and asks the others: 6 to 8 s in all.
const FAILOVER: Duration = Duration::from_secs(8);

const RECOVERY: Duration = Duration::from_secs(2);

impl Servers for Cluster {
    fn spoil(&self, key: &str) {
        self.cli_for(key, &["SET", key, "somebody else's", "PX", "60000"]).expect("the node answers");
    }
}

fn cluster() -> Option<Cluster> {
    servers::needed(Cluster::start(RedisBinary::System))
}

fn contract_on(binary: RedisBinary) {
    let Some(cluster) = servers::needed(Cluster::start(binary)) else { return };
    every_case_holds(&cluster.url(), &cluster);
}

#[test]
fn the_contract_holds_on_a_cluster_of_redis_7_0() {
    contract_on(RedisBinary::System);
}

#[test]
fn the_contract_holds_on_a_cluster_of_redis_8_2() {
    contract_on(RedisBinary::Redis8_2);
}

#[test]
fn the_contract_holds_on_a_cluster_of_valkey_9_1() {
    contract_on(RedisBinary::Valkey9_1);
}

#[tokio::test]
async fn each_key_is_at_the_node_of_its_slot_and_can_be_administered() {
    let Some(cluster) = cluster() else { return };
    let store = store(&cluster.url()).await;
    let mut nodes = HashSet::new();
    for _ in 0..30 {
        let (key, token) = (key(), Token::random());
        assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
        complete(&store, &key, token).await.expect("an answer");
        let node = cluster.primary_of(Cluster::slot(key.as_str())).expect("there is one");
        assert!(node.cli(&["GET", key.as_str()]).expect("it is here").text().is_some());
        nodes.insert(node.port());
        let admin = store.admin().expect("it has one");
        assert!(within_bound(admin.inspect(&key)).await.expect("an answer").is_some());
    }
    assert_eq!(nodes.len(), 3, "all nodes have some");
    // A hash tag of the caller's own is followed as the servers follow it.
    let tagged = Key::from_text("{shop}:order:1");
    assert_eq!(claim(&store, &tagged, Token::random()).await.expect("an answer"), FIRST);
    assert!(cluster.cli_for("{shop}", &["GET", tagged.as_str()]).expect("it is here").text().is_some());
}

#[tokio::test]
async fn braces_in_an_argument_choose_no_slot() {
    let Some(cluster) = cluster() else { return };
    let idempotency = Idempotency::connect(&cluster.url()).await.expect("the servers were started for this");
    for number in 0..20 {
        let part = format!("{{shop}}{number}");
        let call = idempotency.call("order").key(part).ttl(Duration::from_mins(10));
        call.run(async { Ok::<_, idempotent_runtime::Error>(number) }).await.expect("an answer");
    }
    let holds = |node: &&Redis| node.cli(&["DBSIZE"]).expect("it answers").integer() > Some(0);
    assert_eq!(cluster.nodes()[..3].iter().filter(holds).count(), 3, "twenty keys at one node");
}

#[tokio::test]
async fn a_server_that_is_no_cluster_is_refused_and_so_is_a_node_by_itself() {
    let (Some(cluster), Some(server)) = (cluster(), redis()) else { return };
    let url = server.url().replace("redis://", "redis+cluster://");
    let error = refused(within_bound(RedisStore::connect(&url)).await);
    assert!(error.to_string().contains("cluster support disabled"), "{error}");

    let node = &cluster.nodes()[0];
    let store = store(&node.url()).await;
    let elsewhere = (0..100)
        .map(|_| key())
        .find(|key| cluster.primary_of(Cluster::slot(key.as_str())).expect("there is one").port() != node.port());
    let error = refused(claim(&store, &elsewhere.expect("two nodes of three"), Token::random()).await);
    assert!(error.to_string().contains("write redis+cluster://"), "{error}");
}

#[tokio::test]
async fn one_seed_that_answers_is_enough() {
    let Some(cluster) = cluster() else { return };
    let seed = cluster.nodes()[5].port();
    // A replica will do, and so will a list in which somebody is gone.
    for url in [format!("redis+cluster://127.0.0.1:{seed}"), format!("redis+cluster://127.0.0.1:1,127.0.0.1:{seed}/")] {
        let store = store(&url).await;
        assert_eq!(claim(&store, &key(), Token::random()).await.expect("an answer"), FIRST);
    }
    let error = unavailable(within_bound(builder().connect("redis+cluster://127.0.0.1:1")).await);
    assert!(error.to_string().contains("cannot connect to the Cluster of 127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn a_password_holds_for_every_node() {
    let Some(cluster) = cluster() else { return };
    for node in cluster.nodes() {
        node.cli(&["ACL", "SETUSER", "shop", "on", ">right", "~*", "+@all"]).expect("the user is set");
    }
    let url = cluster.url().replace("redis+cluster://", "redis+cluster://shop:right@");
    let store = store(&url).await;
    for _ in 0..10 {
        assert_eq!(claim(&store, &key(), Token::random()).await.expect("an answer"), FIRST);
    }
    let error = refused(within_bound(builder().connect(&url.replace("right", "wrong"))).await);
    assert!(error.to_string().contains("WRONGPASS"), "{error}");
}

/// A key of a slot that begins at one node, and another primary.
fn a_slot_to_move(cluster: &Cluster) -> (Key, u16, &Redis, &Redis) {
    let key = key();
    let slot = Cluster::slot(key.as_str());
    let from = cluster.primary_of(slot).expect("there is one");
    let to = cluster.nodes()[..3].iter().find(|node| node.port() != from.port()).expect("there are three");
    (key, slot, from, to)
}

#[tokio::test]
async fn a_slot_on_its_way_is_followed_and_the_map_is_read_once() {
    let Some(cluster) = cluster() else { return };
    let store = store(&cluster.url()).await;
    let (key, slot, from, to) = a_slot_to_move(&cluster);
    let (there, token) = (key.clone(), Token::random());
    assert_eq!(claim(&store, &there, token).await.expect("an answer"), FIRST);
    cluster.begin_migration(slot, from, to).expect("both agree");
    // What is still there is answered there; what is not is asked for at the other node (ASK), plain or by script.
    assert_eq!(renew(&store, &there, token).await.expect("an answer"), Answer::Held);
    let new = Key::from_text(&format!("{{{}}}:1", key.as_str()));
    assert_eq!(Cluster::slot(new.as_str()), slot);
    assert_eq!(claim(&store, &new, token).await.expect("an answer"), FIRST);
    to.cli(&["SCRIPT", "FLUSH"]).expect("the scripts are gone");
    assert_eq!(renew(&store, &new, token).await.expect("an answer"), Answer::Held);

    cluster.end_migration(slot, from, to).expect("both agree");
    let map_was_read = || cluster.nodes().iter().map(|node| number_of(node, "cluster|slots")).sum::<i64>();
    let before = map_was_read();
    let renewals = (0..100).map(|n| renew(&store, if n % 2 == 0 { &there } else { &new }, token));
    for answer in futures_util::future::join_all(renewals).await {
        assert_eq!(answer.expect("an answer"), Answer::Held, "MOVED is followed");
    }
    until("the map is read", || map_was_read() > before).await;
    for key in [&there, &new] {
        assert_eq!(complete(&store, key, token).await.expect("an answer"), CompleteAnswer::Held);
    }
    // Some nodes are asked at once.
    assert!(map_was_read() - before <= 3, "it was read {} times", map_was_read() - before);
}

/// How often a node was given a command.
fn number_of(node: &Redis, command: &str) -> i64 {
    let stats = node.cli(&["INFO", "commandstats"]).expect("it answers").to_string();
    let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    line.and_then(|line| line.split(',').next()?.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn scripts_that_a_node_has_lost_are_loaded_again() {
    let Some(cluster) = cluster() else { return };
    let store = store(&cluster.url()).await;
    let (key, token) = (key(), Token::random());
    assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
    for node in &cluster.nodes()[..3] {
        node.cli(&["SCRIPT", "FLUSH"]).expect("the scripts are gone");
    }
    assert_eq!(renew(&store, &key, token).await.expect("an answer"), Answer::Held);
    assert_eq!(complete(&store, &key, token).await.expect("an answer"), CompleteAnswer::Held);
    let answer = claim(&store, &key, Token::random()).await.expect("an answer");
    assert!(matches!(answer, ClaimAnswer::Completed(_)), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_has_one_connection_to_each_primary() {
    let Some(cluster) = cluster() else { return };
    let store = store(&cluster.url()).await;
    let calls = (0..200).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { claim(&store, &key(), Token::random()).await.expect("an answer") })
    });
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.expect("no panic"), FIRST);
    }
    for primary in &cluster.nodes()[..3] {
        assert_eq!(clients(primary), 1);
    }
}

/// A crowd calls while something happens to the first node; calls of its slots must go on.
async fn calls_go_on(fault: impl FnOnce(&Cluster), within: Duration, back: impl FnOnce(&Cluster)) {
    let Some(cluster) = cluster() else { return };
    let crowd = Crowd::call(&cluster.url()).await;
    let range = 0..5461_u16;
    let affected = |key: &str| range.contains(&Cluster::slot(key));
    crowd.recovery_of(affected).await;
    fault(&cluster);
    let outage = crowd.recovery_of(affected).await;
    assert!(outage < within, "{outage:?}");
    back(&cluster);
    cluster.wait_until_whole().expect("all nodes are there");
    crowd.recovery_of(affected).await;
    let seen = crowd.end().await;
    let record = |key: &str| cluster.cli_for(key, &["GET", key]).expect("an answer").text().map(str::to_owned);
    let lost = seen.no_run_was_repeated_but_for_lost_writes(record);
    println!("calls went on after {outage:?}; {lost} acknowledged writes lost; {seen}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_on_after_a_node_was_killed() {
    calls_go_on(
        |cluster| cluster.nodes()[0].kill().expect("it dies"),
        FAILOVER + RECOVERY,
        |cluster| cluster.nodes()[0].restart().expect("it starts again"),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_on_after_a_node_stood_still() {
    calls_go_on(
        |cluster| cluster.nodes()[0].stop().expect("it stops"),
        FAILOVER + RECOVERY,
        |cluster| cluster.nodes()[0].cont().expect("it goes on"),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_on_while_a_slot_moves_and_scripts_are_lost() {
    calls_go_on(
        |cluster| {
            let (from, to) = (&cluster.nodes()[0], &cluster.nodes()[1]);
            let began = Instant::now();
            for slot in (0..5461).step_by(100) {
                cluster.begin_migration(slot, from, to).expect("both agree");
                to.cli(&["SCRIPT", "FLUSH"]).expect("the scripts are gone");
                cluster.end_migration(slot, from, to).expect("both agree");
            }
            println!("{} slots moved in {:?}", 5461_u32.div_ceil(100), began.elapsed());
        },
        RECOVERY,
        |_| {},
    )
    .await;
}
