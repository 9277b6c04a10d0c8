//! The conformance suite on each Redis and Valkey that is installed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use idempotent_runtime::conformance::{CASES, Harness, When, run};
use idempotent_runtime::store::RedisStore;
use idempotent_runtime::{Key, Store};
use servers::{Redis, RedisBinary};

/// Cases that wait at the same time: a server really waits, so one after the other they would take minutes.
const LANES: usize = 16;

/// Servers on which a test can write beside the store.
pub(crate) trait Servers: Sync {
    /// Puts something at a key that is no record.
    fn spoil(&self, key: &str);
}

impl Servers for Redis {
    fn spoil(&self, key: &str) {
        self.cli(&["SET", key, "somebody else's", "PX", "60000"]).expect("the server answers");
    }
}

pub(crate) struct OnRedis<'a> {
    store: Arc<RedisStore>,
    servers: &'a dyn Servers,
    tick: Duration,
}

impl<'a> OnRedis<'a> {
    pub(crate) fn new(store: RedisStore, servers: &'a dyn Servers, tick: Duration) -> Self {
        Self { store: Arc::new(store), servers, tick }
    }
}

impl Harness for OnRedis<'_> {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    fn tick(&self) -> Duration {
        self.tick
    }

    fn pass(&self, time: Duration) -> When<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn spoil<'a>(&'a self, key: &'a Key) -> When<'a, bool> {
        Box::pin(async move {
            self.servers.spoil(key.as_str());
            true
        })
    }
}

fn on(binary: RedisBinary) {
    let Some(server) = servers::needed(Redis::start(binary)) else { return };
    every_case_holds(&server.url(), &server);
}

/// Runs the whole suite on the servers that `url` names.
pub(crate) fn every_case_holds(url: &str, servers: &dyn Servers) {
    let harness = async || {
        let store = RedisStore::connect(url).await.expect("the servers were started for this");
        OnRedis::new(store, servers, Duration::from_millis(150))
    };
    let lane = |lane: usize| {
        let cases = CASES.iter().skip(lane).step_by(LANES);
        cases.filter(|case| catch_unwind(AssertUnwindSafe(|| run(case.name, harness))).is_err()).collect::<Vec<_>>()
    };
    let failed: Vec<_> = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|at| scope.spawn(move || lane(at))).collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("panics are caught")).collect()
    });
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn on_redis_7_0() {
    on(RedisBinary::System);
}

#[test]
fn on_redis_8_2() {
    on(RedisBinary::Redis8_2);
}

#[test]
fn on_valkey_9_1() {
    on(RedisBinary::Valkey9_1);
}
