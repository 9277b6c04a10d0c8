//! Hazards 2 to 4: servers that are dead, silent, demoted, or know the password no more.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use idempotent_runtime::Token;
use idempotent_runtime::store::{RedisStore, StoreErrorKind};
use servers::{Fault, Proxy};

use crate::support::{
    BOUND, FIRST, PATIENCE, at_last, builder, claim, clients, key, redis, refused, store, unavailable, until,
    within_bound,
};

#[tokio::test]
async fn a_dead_server_is_an_error_within_the_time_out() {
    let Some(server) = redis() else { return };
    let store = store(&server.url()).await;
    server.kill().expect("the server dies");
    for _ in 0..3 {
        unavailable(claim(&store, &key(), Token::random()).await);
    }
    let error = unavailable(within_bound(RedisStore::connect(&server.url())).await);
    assert!(error.to_string().contains(&format!("cannot connect to 127.0.0.1:{}", server.port())), "{error}");
    server.restart().expect("the server starts again");
    assert_eq!(at_last(async || claim(&store, &key(), Token::random()).await).await, FIRST);
}

#[tokio::test]
async fn a_server_that_stands_still_is_an_error_within_the_time_out() {
    let Some(server) = redis() else { return };
    let store = store(&server.url()).await;
    server.stop().expect("the server stops");
    let error = unavailable(claim(&store, &key(), Token::random()).await);
    assert!(error.to_string().contains("no answer within 400ms"), "{error}");
    // The port still accepts connections: nothing but the time-out says that nobody is there.
    unavailable(claim(&store, &key(), Token::random()).await);
    server.cont().expect("the server goes on");
    assert_eq!(at_last(async || claim(&store, &key(), Token::random()).await).await, FIRST);
}

#[tokio::test]
async fn a_network_that_swallows_everything_is_an_error_within_the_time_out() {
    let Some(server) = redis() else { return };
    let proxy = Proxy::start(server.port()).expect("the proxy starts");
    let store = store(&proxy.url(&server.url())).await;
    proxy.set(Fault::Drop).expect("the network is down");
    unavailable(claim(&store, &key(), Token::random()).await);
    unavailable(claim(&store, &key(), Token::random()).await);
    proxy.set(Fault::None).expect("the network is back");
    assert_eq!(at_last(async || claim(&store, &key(), Token::random()).await).await, FIRST);
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_keep_a_dead_connection() {
    let Some(server) = redis() else { return };
    let store = store(&server.url()).await;
    server.stop().expect("the server stops");
    let impatient = PATIENCE / 20;
    tokio::time::timeout(impatient, claim(&store, &key(), Token::random())).await.expect_err("no answer yet");
    // Nobody waits any more; the connection is given up all the same.
    tokio::time::sleep(BOUND).await;
    server.cont().expect("the server goes on");
    until("the connection is closed", || clients(&server) == 0).await;
    drop(store);
}

#[tokio::test]
async fn a_primary_that_is_demoted_is_left_and_found_again() {
    let Some(server) = redis() else { return };
    let store = store(&server.url()).await;
    server.cli(&["REPLICAOF", "127.0.0.1", "1"]).expect("it becomes a replica");
    let error = unavailable(claim(&store, &key(), Token::random()).await);
    assert!(error.to_string().contains("read only replica"), "{error}");
    let error = unavailable(claim(&store, &key(), Token::random()).await);
    assert!(error.to_string().contains("takes no writes"), "it has connected anew: {error}");
    server.cli(&["REPLICAOF", "NO", "ONE"]).expect("it becomes a primary");
    assert_eq!(at_last(async || claim(&store, &key(), Token::random()).await).await, FIRST);
}

#[tokio::test]
async fn a_password_that_was_changed_and_restored_is_no_error_for_good() {
    let Some(server) = redis() else { return };
    let set = |password: &str| {
        let user = ["ACL", "SETUSER", "shop", "on", "resetpass", password, "~*", "+@all"];
        server.cli(&user).expect("the user is set");
    };
    set(">right");
    let store = store(&server.url().replace("redis://", "redis://shop:right@")).await;
    assert_eq!(claim(&store, &key(), Token::random()).await.expect("an answer"), FIRST);
    set(">other");
    server.cli(&["CLIENT", "KILL", "USER", "shop"]).expect("its connections are closed");
    let error = loop {
        match claim(&store, &key(), Token::random()).await {
            Err(error) if error.kind() == StoreErrorKind::Refused => break error,
            // The close has only just been seen.
            Err(_) => {}
            Ok(answer) => panic!("not refused: {answer:?}"),
        }
    };
    assert!(error.to_string().contains("invalid username-password pair"), "{error}");
    refused(claim(&store, &key(), Token::random()).await);
    set(">right");
    assert_eq!(claim(&store, &key(), Token::random()).await.expect("an answer at once"), FIRST);
}

#[tokio::test]
async fn a_missing_permission_is_refused_in_the_servers_words() {
    let Some(server) = redis() else { return };
    let user = ["ACL", "SETUSER", "shop", "on", ">right", "~shop:*", "+@all", "-@write"];
    server.cli(&user).expect("the user is set");
    let store = store(&server.url().replace("redis://", "redis://shop:right@")).await;
    let error = refused(claim(&store, &key(), Token::random()).await);
    assert!(error.to_string().contains("no permissions"), "{error}");
}

#[tokio::test]
async fn a_wrong_or_missing_password_is_refused_in_the_servers_words() {
    let Some(server) = servers::needed(servers::Redis::builder(servers::RedisBinary::System).password("right").start())
    else {
        return;
    };
    let wrong = format!("redis://:wrong@127.0.0.1:{}/", server.port());
    let error = refused(within_bound(RedisStore::connect(&wrong)).await);
    assert!(error.to_string().ends_with(": WRONGPASS invalid username-password pair or user is disabled."), "{error}");
    let none = format!("redis://127.0.0.1:{}/", server.port());
    let error = refused(within_bound(RedisStore::connect(&none)).await);
    assert!(error.to_string().contains(": NOAUTH HELLO must be called with"), "{error}");
    store(&server.url()).await;
}

#[tokio::test]
async fn a_port_where_nobody_speaks_is_an_error_within_the_time_out() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("redis://{}/", silent.local_addr().expect("its address"));
    let error = unavailable(within_bound(builder().connect(&url)).await);
    assert!(error.to_string().contains("no answer within 800ms"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_too_old_is_refused_in_one_clear_error() {
    let hello = "%3\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n6.2.14\r\n$4\r\nrole\r\n$6\r\nmaster\r\n";
    let url = pretended(move |request| if request.contains("HELLO") { hello } else { "+OK\r\n" });
    let error = refused(within_bound(builder().connect(&url)).await).to_string();
    assert!(error.contains("redis 6.2.14; idempotent needs Redis 7.0 or later, or Valkey 7.2 or later"), "{error}");

    let url = pretended(|request| {
        if request.contains("HELLO") {
            "-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n"
        } else {
            "+OK\r\n"
        }
    });
    let error = refused(within_bound(builder().connect(&url)).await).to_string();
    assert!(error.contains("older than Redis 6.0") && error.contains("needs Redis 7.0"), "{error}");
}

/// A server that answers each command as told.
fn pretended(answer: impl Fn(&str) -> &'static str + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("redis://{}/", listener.local_addr().expect("its address"));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut bytes = vec![0; 64 * 1024];
            while let Ok(read @ 1..) = stream.read(&mut bytes) {
                let requests = String::from_utf8_lossy(&bytes[..read]).into_owned();
                for request in requests.split('*').skip(1) {
                    if stream.write_all(answer(request).as_bytes()).is_err() {
                        break;
                    }
                }
            }
        }
    });
    url
}
