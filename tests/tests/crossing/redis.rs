//! The table on a real Redis: behind a wrapper that has every fault, and with the faults that a server really has.

use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::store::RedisStore;
use idempotent_runtime::{Builder, Idempotency};
use servers::{Proxy, Redis, RedisBinary};

use crate::play::{Message, messages, play};
use crate::table::{Case, Happens, cases};
use crate::world::{Trouble, World};

/// Long, where nothing is to lapse.
const LONG: Duration = Duration::from_secs(30);

/// Short, where it is.
const SHORT: Duration = Duration::from_secs(1);

fn settings() -> Builder {
    let patience = Duration::from_millis(600);
    Idempotency::builder().store_timeout(patience).settle_timeout(patience)
}

async fn connect(url: &str) -> RedisStore {
    let builder = RedisStore::builder();
    let builder = builder.response_timeout(Duration::from_millis(200)).connect_timeout(Duration::from_millis(400));
    builder.connect(url).await.expect("the server was started for this")
}

/// Plays a case; the worker goes by `way`, and the other one straight to the server.
async fn on(server: &Redis, way: &str, trouble: Trouble<'_>, case: Case, message: Message) {
    let (way, straight) = (connect(way).await, connect(&server.url()).await);
    let lease = if case.takes_a_lapse() { SHORT } else { LONG };
    let key = format!("{case:?}{message:?}").replace(|char: char| !char.is_ascii_alphanumeric(), "");
    play(&World::new(&settings, Arc::new(way), straight, trouble, lease, key), case, message).await;
}

fn start() -> Option<Redis> {
    servers::needed(Redis::builder(RedisBinary::System).persistent().start())
}

fn of(happens: Happens) -> impl Iterator<Item = Case> {
    cases().filter(move |case| case.happens == happens)
}

#[tokio::test]
async fn every_case_goes_as_the_table_says() {
    let Some(server) = start() else { return };
    for case in cases() {
        for &message in messages(case) {
            on(&server, &server.url(), Trouble::Wrapper, case, message).await;
        }
    }
}

#[tokio::test]
async fn a_server_that_stands_still() {
    let Some(server) = start() else { return };
    for case in of(Happens::StoreGone) {
        on(&server, &server.url(), Trouble::ServerStopped(&server), case, Message::NotApplied).await;
    }
}

#[tokio::test]
async fn a_server_that_dies() {
    let Some(server) = start() else { return };
    for case in of(Happens::StoreGone) {
        on(&server, &server.url(), Trouble::ServerKilled(&server), case, Message::NotApplied).await;
    }
}

#[tokio::test]
async fn a_network_that_is_cut() {
    let Some(server) = start() else { return };
    let proxy = Proxy::start(server.port()).expect("the proxy starts");
    for case in of(Happens::StoreGone).chain(of(Happens::AnswerLost)) {
        on(&server, &proxy.url(&server.url()), Trouble::Cut(&proxy), case, Message::NotApplied).await;
    }
}
