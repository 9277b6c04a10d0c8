//! TLS: one server, Sentinels, a Cluster.

use std::net::TcpListener;

use idempotent_runtime::Token;
use idempotent_runtime::store::{ClaimAnswer, RedisStore, Store as _};
use redis::ConnectionAddr;
use servers::{Cluster, Reached, Redis, RedisBinary, Sentinels};

use crate::authority::{Authority, Files};
use crate::support::{FIRST, KEPT, at_last, builder, claim, complete, key, refused, result, text, within_bound};

/// A first call and its completion, through the store.
async fn works(store: &RedisStore) {
    let (key, token) = (key(), Token::random());
    assert_eq!(claim(store, &key, token).await.expect("an answer"), FIRST);
    complete(store, &key, token).await.expect("an answer");
}

/// A server that speaks TLS under the name `localhost`, on the port that is given with it.
fn server_with_tls(authority: &Authority, asks_for_certificates: &str) -> Option<(Redis, u16)> {
    let files = Files::issued_by(authority, "localhost");
    let port = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("its address").port();
    let settings = [
        ["--tls-port", &port.to_string()],
        ["--tls-cert-file", &files.tls.chain.display().to_string()],
        ["--tls-key-file", &files.tls.key.display().to_string()],
        ["--tls-ca-cert-file", &files.tls.authority.display().to_string()],
        ["--tls-auth-clients", asks_for_certificates],
    ];
    // It has read its files when it has started.
    servers::needed(Redis::builder(RedisBinary::System).args(settings.concat()).start()).map(|server| (server, port))
}

#[tokio::test]
async fn tls_trusts_the_roots_that_are_given_and_no_others() {
    let authority = Authority::new();
    let Some((_server, port)) = server_with_tls(&authority, "no") else { return };
    let url = format!("rediss://localhost:{port}/3");
    let given = builder().root_certificates(authority.pem());
    let store = within_bound(given.clone().connect(&url)).await.expect("a trusted server");
    works(&store).await;
    // More than one packet, and more than the buffers of a connection hold.
    let (key, token, long) = (key(), Token::random(), "x".repeat(3 << 20));
    assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
    let result = result(&format!("\"{long}\""));
    within_bound(store.complete(&key, token, &result, KEPT)).await.expect("an answer");
    let answer = claim(&store, &key, Token::random()).await.expect("an answer");
    assert!(matches!(answer, ClaimAnswer::Completed(record) if record.result == result));

    // The system's roots know nothing of this authority, and another authority is none of them either.
    for stranger in [builder(), builder().root_certificates(Authority::new().pem())] {
        let error = refused(within_bound(stranger.connect(&url)).await);
        assert!(error.to_string().contains("certificate"), "{error}");
    }
    // The certificate is for another name.
    let error = refused(within_bound(given.clone().connect(&url.replace("localhost", "127.0.0.1"))).await);
    assert!(error.to_string().contains("not valid for name"), "{error}");
    let error = refused(within_bound(given.connect(&format!("{url}#insecure"))).await);
    assert!(error.to_string().contains("would trust any server"), "{error}");
}

#[tokio::test]
async fn tls_without_a_check_is_for_clients_that_say_so() {
    let Some((_server, port)) = server_with_tls(&Authority::new(), "no") else { return };
    let addr = ConnectionAddr::TcpTls { host: "localhost".into(), port, insecure: true, tls_params: None };
    let client = redis::Client::open("redis://localhost/").expect("a good URL").get_connection_info().clone();
    // The client itself was built without TLS and would refuse; the store only takes what it says.
    let client = redis::Client::open(client.set_addr(addr)).expect("a client");
    works(&within_bound(builder().connect_with(client)).await.expect("any server is trusted")).await;
}

#[tokio::test]
async fn a_server_that_asks_for_a_certificate_gets_it() {
    let authority = Authority::new();
    let Some((_server, port)) = server_with_tls(&authority, "yes") else { return };
    let url = format!("rediss://localhost:{port}/");
    let given = builder().root_certificates(authority.pem());
    let (chain, key) = authority.issue("shop");
    works(&within_bound(given.clone().client_certificate(chain, key).connect(&url)).await.expect("it is shown")).await;
    within_bound(given.clone().connect(&url)).await.expect_err("none is shown");
    let error = refused(within_bound(given.client_certificate("no PEM", "no PEM").connect(&url)).await);
    assert!(error.to_string().contains("client's certificate cannot be read"), "{error}");
}

#[tokio::test]
async fn sentinels_and_their_primaries_are_reached_over_tls() {
    let authority = Authority::new();
    let files = Files::issued_by(&authority, "127.0.0.1");
    let started =
        Sentinels::start_reached(&Redis::builder(RedisBinary::System), Reached::OverTls(files.tls.clone()), None);
    let Some(sentinels) = servers::needed(started) else { return };
    let given = builder().root_certificates(authority.pem());
    assert!(sentinels.url().starts_with("rediss+sentinel://"));
    let store = within_bound(given.clone().connect(&sentinels.url())).await.expect("a trusted deployment");
    works(&store).await;
    let (key, token) = (key(), Token::random());
    assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
    sentinels.wait_until_followed().expect("the replicas have it");

    // The next primary is trusted for its own certificate.
    sentinels.fail_over().expect("another takes over");
    at_last(async || complete(&store, &key, token).await).await;
    assert!(text(sentinels.primary().expect("there is one"), &key).is_some(), "it is at the new primary");

    let error = refused(within_bound(builder().connect(&sentinels.url())).await);
    assert!(error.to_string().contains("certificate"), "{error}");
    // Sentinels over TLS, asked without it, are no Sentinels.
    within_bound(given.connect(&sentinels.url().replace("rediss", "redis"))).await.expect_err("they speak TLS");
}

#[tokio::test]
async fn every_node_of_a_cluster_is_reached_over_tls() {
    let authority = Authority::new();
    let files = Files::issued_by(&authority, "127.0.0.1");
    let started = Cluster::start_reached(&Redis::builder(RedisBinary::System), Reached::OverTls(files.tls.clone()));
    let Some(cluster) = servers::needed(started) else { return };
    let given = builder().root_certificates(authority.pem());
    assert!(cluster.url().starts_with("rediss+cluster://"));
    let store = within_bound(given.connect(&cluster.url())).await.expect("a trusted deployment");
    for _ in 0..30 {
        works(&store).await;
    }
    for primary in &cluster.nodes()[..3] {
        let keys = primary.cli(&["DBSIZE"]).expect("it answers").integer();
        assert!(keys > Some(0), "each node has some");
    }
    // A node that a slot has moved to is followed there (MOVED names its port for TLS).
    let (key, token) = (key(), Token::random());
    assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
    let slot = Cluster::slot(key.as_str());
    let from = cluster.primary_of(slot).expect("there is one");
    let to = cluster.nodes()[..3].iter().find(|node| node.port() != from.port()).expect("there are three");
    cluster.begin_migration(slot, from, to).expect("both agree");
    cluster.end_migration(slot, from, to).expect("both agree");
    complete(&store, &key, token).await.expect("it is followed");
    assert!(text(to, &key).is_some(), "it is at the other node");
    let error = refused(within_bound(builder().connect(&cluster.url())).await);
    assert!(error.to_string().contains("certificate"), "{error}");
}
