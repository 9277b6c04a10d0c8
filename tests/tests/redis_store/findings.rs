//! What about a server is dangerous to its records, as the store finds it.

use idempotent_runtime::Token;
use idempotent_runtime::store::{Finding, RedisStore, Severity};
use servers::{Cluster, Redis, RedisBinary};

use crate::support::{FIRST, builder, claim, key, redis, refused, within_bound};

/// Without how long the answer took, which a busy machine decides.
async fn findings(store: &RedisStore) -> Vec<Finding> {
    let mut all = within_bound(store.check()).await.expect("it may ask");
    all.retain(|finding| !matches!(finding, Finding::Slow { .. }));
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
