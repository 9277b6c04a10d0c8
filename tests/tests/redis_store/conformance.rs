//! The conformance suite on each Redis and Valkey that is installed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use idempotent_runtime::conformance::{CASES, Harness, Steps, When, run};
use idempotent_runtime::store::RedisStore;
use idempotent_runtime::{Key, Store};
use servers::{Redis, RedisBinary};

/// Cases that wait at the same time: a server really waits, so one after the other they would take minutes.
const LANES: usize = 16;

/// Servers on which a test can write beside the store.
pub(crate) trait Servers: Sync {
    /// Gives one command to the server that has this key.
    fn tell(&self, key: &str, command: &[&str]);

    /// Puts something where the record of a key belongs that is no record.
    fn spoil(&self, key: &Key) {
        match key.step() {
            None => self.tell(key.as_str(), &["SET", key.as_str(), "somebody else's", "PX", "60000"]),
            Some(step) => self.tell(key.entity(), &["HSET", key.entity(), step, "somebody else's"]),
        }
    }
}

impl Servers for Redis {
    fn tell(&self, _: &str, command: &[&str]) {
        self.cli(command).expect("the server answers");
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
            self.servers.spoil(key);
            true
        })
    }
}

/// Whether the cases work under whole keys, or under steps of entities.
#[derive(Clone, Copy)]
pub(crate) enum Under {
    Keys,
    Steps,
}

fn on(binary: RedisBinary, under: Under) {
    let Some(server) = servers::needed(Redis::start(binary)) else { return };
    every_case_holds(&server.url(), &server, under);
}

/// Runs the whole suite on the servers that `url` names.
pub(crate) fn every_case_holds(url: &str, servers: &dyn Servers, under: Under) {
    let harness = async || {
        let store = RedisStore::connect(url).await.expect("the servers were started for this");
        OnRedis::new(store, servers, Duration::from_millis(150))
    };
    let lane = |lane: usize| {
        let cases = CASES.iter().skip(lane).step_by(LANES);
        let run = |name| match under {
            Under::Keys => run(name, harness),
            Under::Steps => run(name, async || Steps(harness().await)),
        };
        cases.filter(|case| catch_unwind(AssertUnwindSafe(|| run(case.name))).is_err()).collect::<Vec<_>>()
    };
    let failed: Vec<_> = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|at| scope.spawn(move || lane(at))).collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("panics are caught")).collect()
    });
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn on_redis_7_0() {
    on(RedisBinary::System, Under::Keys);
}

#[test]
fn on_redis_8_2() {
    on(RedisBinary::Redis8_2, Under::Keys);
}

#[test]
fn on_valkey_9_1() {
    on(RedisBinary::Valkey9_1, Under::Keys);
}

#[test]
fn step_by_step_on_redis_7_0() {
    on(RedisBinary::System, Under::Steps);
}

#[test]
fn step_by_step_on_redis_8_2() {
    on(RedisBinary::Redis8_2, Under::Steps);
}

#[test]
fn step_by_step_on_valkey_9_1() {
    on(RedisBinary::Valkey9_1, Under::Steps);
}
