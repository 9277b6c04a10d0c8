//! Claims and completions that count only when replicas have them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use idempotent_runtime::store::{Answer, ClaimAnswer, CompleteAnswer, Store as _};
use idempotent_runtime::testing::Gate;
use idempotent_runtime::{Error, ErrorKind, Idempotency, Token};
use servers::{Cluster, Redis, RedisBinary};

use crate::support::{FIRST, at_last, builder, claim, clients, complete, key, renew, text, unavailable, until};

/// What replicas are given.
const WITHIN: Duration = Duration::from_millis(300);

/// Where two hundred calls wait at once, also on a machine that is busy.
const LONG: Duration = Duration::from_secs(10);

const STORE_TIMEOUT: Duration = Duration::from_secs(1);

struct Servers {
    primary: Redis,
    replicas: [Redis; 2],
}

/// A primary with two replicas that follow it.
async fn servers() -> Option<Servers> {
    let primary = servers::needed(Redis::start(RedisBinary::System))?;
    let port = primary.port().to_string();
    let replica = || {
        let replica = Redis::builder(RedisBinary::System).args(["--replicaof", "127.0.0.1", &port]);
        replica.args(["--repl-diskless-sync-delay", "0"]).start().expect("it starts as its primary did")
    };
    let replicas = [replica(), replica()];
    until("both replicas follow", || {
        let info = primary.cli(&["INFO", "replication"]).expect("it answers").to_string();
        info.matches("state=online").count() == 2
    })
    .await;
    Some(Servers { primary, replicas })
}

impl Servers {
    /// A handle for which `number` replicas must have a write.
    async fn handle(&self, number: usize) -> Idempotency {
        let store = builder().replicas(number, WITHIN).connect(&self.primary.url()).await.expect("it is there");
        let settings = Idempotency::builder().store_timeout(STORE_TIMEOUT).settle_timeout(STORE_TIMEOUT);
        settings.build(store).expect("good settings")
    }

    fn waits(&self) -> usize {
        let stats = self.primary.cli(&["INFO", "commandstats"]).expect("it answers").to_string();
        let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_wait:calls="));
        line.and_then(|line| line.split(',').next()?.parse().ok()).unwrap_or(0)
    }
}

/// A call for an order, and how often such calls have run.
async fn order(idempotency: &Idempotency, order: u32, runs: &Arc<AtomicU32>) -> Result<u32, Error> {
    let call = idempotency.call("order").key(order).ttl(Duration::from_mins(10));
    let runs = Arc::clone(runs);
    call.run(async move {
        runs.fetch_add(1, Ordering::SeqCst);
        Ok(order)
    })
    .await
}

#[tokio::test]
async fn with_enough_replicas_calls_run_and_are_replayed() {
    let Some(servers) = servers().await else { return };
    let (idempotency, runs) = (servers.handle(2).await, Arc::default());
    assert_eq!(order(&idempotency, 1, &runs).await.expect("it runs"), 1);
    assert!(servers.waits() >= 2, "a claim and a completion");
    for replica in &servers.replicas {
        let record = replica.cli(&["GET", "order:1"]).expect("it answers");
        assert!(record.text().is_some_and(|record| record.starts_with("1c ")), "{record}");
    }
    assert_eq!(order(&idempotency, 1, &runs).await.expect("a replay"), 1);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn with_too_few_the_claim_is_given_back() {
    let Some(servers) = servers().await else { return };
    let (both, one, runs) = (servers.handle(2).await, servers.handle(1).await, Arc::default());
    servers.replicas[0].stop().expect("it stops");
    let began = Instant::now();
    let error = order(&both, 1, &runs).await.expect_err("one has not the claim");
    assert_eq!(error.kind(), ErrorKind::StoreUnavailable);
    let says = error.to_string();
    assert!(says.contains("1 of 2 replicas had the write within 300ms"), "{says}");
    assert!(began.elapsed() < STORE_TIMEOUT + 2 * WITHIN, "{:?}", began.elapsed());
    let record = || servers.primary.cli(&["GET", "order:1"]).expect("it answers").to_string();
    until("the claim is given back", || record().starts_with("1f ")).await;
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    // The control: who asks for one is content, and runs it.
    assert_eq!(order(&one, 1, &runs).await.expect("it runs"), 1);
    servers.replicas[0].cont().expect("it goes on");
    at_last_ok(async || order(&both, 2, &runs).await).await;
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

async fn at_last_ok(mut call: impl AsyncFnMut() -> Result<u32, Error>) {
    let began = Instant::now();
    while let Err(error) = call().await {
        assert_eq!(error.kind(), ErrorKind::StoreUnavailable, "{error}");
        assert!(began.elapsed() < Duration::from_secs(10), "still not: {error}");
    }
}

#[tokio::test]
async fn a_completion_is_repeated_until_enough_have_it() {
    let Some(servers) = servers().await else { return };
    let idempotency = servers.handle(2).await;
    let gate = Gate::new("the body");
    let body = {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok::<_, Error>(7)
        }
    };
    let call = tokio::spawn(idempotency.call("order").key(1).ttl(Duration::from_mins(10)).run(body));
    gate.reached().await;
    servers.replicas[0].stop().expect("it stops");
    gate.open();
    // The effect has happened: its caller gets the value, and the keeper goes on.
    assert_eq!(call.await.expect("no panic").expect("the handler's value"), 7);
    assert_eq!(idempotency.shutdown(2 * WITHIN).await, Err(1));
    servers.replicas[0].cont().expect("it goes on");
    assert_eq!(idempotency.shutdown(Duration::from_secs(10)).await, Ok(()));
    let record = servers.replicas[0].cli(&["GET", "order:1"]).expect("it answers").to_string();
    assert!(record.starts_with("1c "), "{record}");
}

#[tokio::test]
async fn a_repeated_write_waits_again_and_changes_no_expiry() {
    let Some(servers) = servers().await else { return };
    let store = builder().replicas(2, WITHIN).connect(&servers.primary.url()).await.expect("it is there");
    let (key, token) = (key(), Token::random());
    assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
    servers.replicas[1].stop().expect("it stops");
    // "Already mine" is no more than a claim, and "already completed" no more than a completion.
    unavailable(claim(&store, &key, token).await);
    unavailable(renew(&store, &key, token).await);
    unavailable(complete(&store, &key, token).await);
    unavailable(complete(&store, &key, token).await);
    let expiry = |server: &Redis| server.cli(&["PEXPIRETIME", key.as_str()]).expect("it answers").integer();
    let before = expiry(&servers.primary);
    assert!(text(&servers.primary, &key).is_some_and(|record| record.starts_with("1c ")), "it is written all the same");
    servers.replicas[1].cont().expect("it goes on");
    let held = at_last(async || complete(&store, &key, token).await).await;
    assert_eq!(held, CompleteAnswer::Held);
    assert_eq!((expiry(&servers.primary), expiry(&servers.replicas[1])), (before, before));
    assert_eq!(renew(&store, &key, token).await.expect("nobody waits for what was not written"), Answer::Lost);
}

#[tokio::test]
async fn many_calls_share_a_few_connections() {
    let Some(servers) = servers().await else { return };
    let store = builder().replicas(2, LONG).connect(&servers.primary.url()).await.expect("it is there");
    let calls = (0..200).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            let (key, request) = (key(), crate::support::request(Token::random()));
            store.claim(&key, &request).await.expect("an answer")
        })
    });
    for answer in join_all(calls).await {
        assert_eq!(answer.expect("no panic"), FIRST);
    }
    // One for the usual commands, and the pool.
    assert!(clients(&servers.primary) <= 9, "{}", clients(&servers.primary));
}

#[tokio::test]
async fn in_a_cluster_the_replicas_of_the_slot_count() {
    let Some(cluster) = servers::needed(Cluster::start(RedisBinary::System)) else { return };
    cluster.wait_until_whole().expect("it is whole");
    let store = builder().replicas(1, WITHIN).connect(&cluster.url()).await.expect("it is there");
    for _ in 0..10 {
        let (key, token) = (key(), Token::random());
        assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
        assert_eq!(complete(&store, &key, token).await.expect("an answer"), CompleteAnswer::Held);
        let answer = claim(&store, &key, Token::random()).await.expect("an answer");
        assert!(matches!(answer, ClaimAnswer::Completed(_)), "{answer:?}");
    }
    for replica in &cluster.nodes()[3..] {
        replica.stop().expect("it stops");
    }
    let error = unavailable(claim(&store, &key(), Token::random()).await);
    assert!(error.to_string().contains("0 of 1 replicas"), "{error}");
    for replica in &cluster.nodes()[3..] {
        replica.cont().expect("it goes on");
    }
}
