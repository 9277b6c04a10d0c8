//! One connection for each runtime, made once for all who wait.

use futures_util::future::join_all;
use idempotent_runtime::Token;
use servers::{Proxy, Redis};
use tokio::runtime::{Builder, Runtime};

use crate::support::{FIRST, claim, clients, key, redis, store, until};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime starts")
}

#[test]
fn a_runtime_that_ends_takes_only_its_own_connection_along() {
    let Some(server) = redis() else { return };
    let (first, second) = (runtime(), runtime());
    let store = first.block_on(store(&server.url()));
    let works = |runtime: &Runtime| {
        let answer = runtime.block_on(claim(&store, &key(), Token::random()));
        assert_eq!(answer.expect("an answer"), FIRST);
    };
    works(&second);
    assert_eq!(clients(&server), 2);
    drop(first);
    works(&second);
    let third = runtime();
    works(&third);
    works(&second);
    third.block_on(until("the first connection is closed", || clients(&server) == 2));
}

#[test]
fn outside_a_runtime_is_an_error_and_no_panic() {
    let Some(server) = redis() else { return };
    let runtime = runtime();
    let store = runtime.block_on(store(&server.url()));
    let key = key();
    let request = crate::support::request(Token::random());
    let claim = idempotent_runtime::Store::claim(&store, &key, &request);
    let error = futures_util::FutureExt::now_or_never(claim).expect("at once").expect_err("there is no runtime");
    assert!(error.to_string().contains("runtime"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lost_connection_is_made_anew_once_for_all() {
    let Some(server) = redis() else { return };
    let proxy = Proxy::start(server.port()).expect("the proxy starts");
    let store = store(&proxy.url(&server.url())).await;
    let before = received(&server);
    assert_eq!(proxy.cut(), 1);
    let mut questions = 0;
    until("the server has seen it", || {
        questions += 1;
        clients(&server) == 0
    })
    .await;
    let claims = (0..200).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            let (key, token) = (key(), Token::random());
            for _ in 0..100 {
                if let Ok(answer) = claim(&store, &key, token).await {
                    return answer;
                }
            }
            panic!("no answer after a hundred tries");
        })
    });
    for answer in join_all(claims).await {
        assert_eq!(answer.expect("no panic"), FIRST);
    }
    assert_eq!(proxy.connections(), 1);
    // The server has also accepted this test's own questions, the last one included.
    assert_eq!(received(&server) - before, 1 + questions + 1);
}

/// Connections that the server has accepted so far.
fn received(server: &Redis) -> u64 {
    let info = server.cli(&["INFO", "stats"]).expect("the server answers");
    let line =
        info.text().and_then(|info| info.lines().find_map(|line| line.strip_prefix("total_connections_received:")));
    line.and_then(|count| count.trim().parse().ok()).expect("a number")
}

#[tokio::test]
async fn dropping_the_store_closes_its_connection() {
    let Some(server) = redis() else { return };
    let store = store(&server.url()).await;
    assert_eq!(clients(&server), 1);
    drop(store);
    until("the connection is closed", || clients(&server) == 0).await;
}
