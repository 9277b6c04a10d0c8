//! Ways to a server: Unix sockets, TLS, logins and databases.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

use idempotent_runtime::store::{ClaimAnswer, RedisStore, Store as _};
use idempotent_runtime::{Idempotency, Token};
use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use redis::ConnectionAddr;
use servers::{Redis, RedisBinary};

use crate::support::{
    FIRST, KEPT, at_last, builder, claim, complete, key, redis, refused, result, text, unavailable, within_bound,
};

/// A first call and its completion, through the store.
async fn works(store: &RedisStore) {
    let (key, token) = (key(), Token::random());
    assert_eq!(claim(store, &key, token).await.expect("an answer"), FIRST);
    complete(store, &key, token).await.expect("an answer");
}

#[tokio::test]
async fn a_unix_socket_is_as_good_as_tcp() {
    let server = Redis::builder(RedisBinary::System).args(["--unixsocket", "redis.sock"]).start();
    let Some(server) = servers::needed(server) else { return };
    let socket = server.folder().join("redis.sock");
    server.cli(&["ACL", "SETUSER", "shop", "on", ">s@cret", "~*", "+@all"]).expect("the user is set");
    for scheme in ["redis+unix", "unix"] {
        let url = format!("{scheme}://{}?db=3&user=shop&pass=s%40cret", socket.display());
        let (store, key) = (within_bound(builder().connect(&url)).await.expect("it listens"), key());
        assert_eq!(claim(&store, &key, Token::random()).await.expect("an answer"), FIRST);
        server.cli(&["SWAPDB", "0", "3"]).expect("the server answers");
        assert!(text(&server, &key).is_some(), "the record is in database 3");
        server.cli(&["SWAPDB", "0", "3"]).expect("the server answers");
        let shown = format!("{store:?}");
        assert!(shown.contains("redis.sock") && !shown.contains("s@cret"), "{shown}");
    }
    // A restart makes the socket anew.
    let store = within_bound(builder().connect(&format!("unix://{}", socket.display()))).await.expect("it listens");
    server.restart().expect("the server starts again");
    assert_eq!(at_last(async || claim(&store, &key(), Token::random()).await).await, FIRST);
    let error = unavailable(within_bound(builder().connect("redis+unix:///nowhere/redis.sock")).await).to_string();
    assert!(error.contains("cannot connect to /nowhere/redis.sock"), "{error}");
}

#[tokio::test]
async fn a_handle_takes_every_way_by_its_url() {
    let server = Redis::builder(RedisBinary::System).args(["--unixsocket", "redis.sock"]).start();
    let Some(server) = servers::needed(server) else { return };
    let socket = server.folder().join("redis.sock");
    for url in
        [server.url(), server.url().replace("redis://", "valkey://"), format!("redis+unix://{}", socket.display())]
    {
        Idempotency::connect(&url).await.expect(&url);
    }
}

#[tokio::test]
async fn the_database_and_the_user_of_the_url_are_used() {
    let Some(server) = redis() else { return };
    server.cli(&["ACL", "SETUSER", "shop", "on", ">right", "~shop:*", "+@all"]).expect("the user is set");
    let url = format!("redis://shop:right@127.0.0.1:{}/5", server.port());
    let (store, key) = (within_bound(builder().connect(&url)).await.expect("it listens"), key());
    assert_eq!(claim(&store, &key, Token::random()).await.expect("an answer"), FIRST);
    assert_eq!(text(&server, &key), None, "not in database 0");
    let clients = server.cli(&["CLIENT", "LIST"]).expect("the server answers").to_string();
    assert!(clients.lines().any(|client| client.contains("user=shop") && client.contains(" db=5 ")), "{clients}");
    let error = refused(within_bound(builder().connect(&url.replace("/5", "/99"))).await);
    assert!(error.to_string().contains("DB index is out of range"), "{error}");
}

/// A certificate authority, and what it has issued.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        // Not the name of what it issues: a server would take that for its own issuer.
        params.distinguished_name.push(DnType::CommonName, "the shop's authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate");
        Self { issuer: Issuer::new(params, key), certificate }
    }

    /// A chain and its key, in PEM.
    fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

/// A server that speaks TLS under the name `localhost`, on the port that is given with it.
fn server_with_tls(authority: &Authority, asks_for_certificates: &str) -> Option<(Redis, u16)> {
    let folder = folder();
    let (chain, key) = authority.issue("localhost");
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).expect("a file is written");
        path.display().to_string()
    };
    let port = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("its address").port();
    let settings = [
        ["--tls-port", &port.to_string()],
        ["--tls-cert-file", &file("chain.pem", &chain)],
        ["--tls-key-file", &file("key.pem", &key)],
        ["--tls-ca-cert-file", &file("ca.pem", &authority.certificate.pem())],
        ["--tls-auth-clients", asks_for_certificates],
    ];
    let started = Redis::builder(RedisBinary::System).args(settings.concat()).start();
    fs::remove_dir_all(&folder).expect("the server has read them");
    servers::needed(started).map(|server| (server, port))
}

/// A folder that nobody else uses.
fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("idempotent-tls-{}", Token::random()));
    fs::create_dir(&folder).expect("a folder is made");
    folder
}

#[tokio::test]
async fn tls_trusts_the_roots_that_are_given_and_no_others() {
    let authority = Authority::new();
    let Some((_server, port)) = server_with_tls(&authority, "no") else { return };
    let url = format!("rediss://localhost:{port}/3");
    let given = builder().root_certificates(authority.certificate.pem());
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
    for stranger in [builder(), builder().root_certificates(Authority::new().certificate.pem())] {
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
    let given = builder().root_certificates(authority.certificate.pem());
    let (chain, key) = authority.issue("shop");
    works(&within_bound(given.clone().client_certificate(chain, key).connect(&url)).await.expect("it is shown")).await;
    within_bound(given.clone().connect(&url)).await.expect_err("none is shown");
    let error = refused(within_bound(given.client_certificate("no PEM", "no PEM").connect(&url)).await);
    assert!(error.to_string().contains("client's certificate cannot be read"), "{error}");
}
