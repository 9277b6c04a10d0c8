//! The conformance suite on each Redis and Valkey that is installed.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use idempotent_runtime::conformance::{Harness, When};
use idempotent_runtime::store::redis::RedisStore;
use idempotent_runtime::{Key, Store};
use servers::{Redis, RedisBinary};

/// A store on a server that all cases share.
struct OnRedis {
    store: Arc<RedisStore>,
    server: &'static Redis,
}

impl OnRedis {
    async fn new(server: &'static Redis) -> Self {
        let store = RedisStore::connect(&server.url()).await.expect("the server was started for this");
        Self { store: Arc::new(store), server }
    }

    fn cli(&self, arguments: &[&[u8]]) -> servers::Reply {
        self.server.cli(arguments).expect("the server answers")
    }
}

impl Harness for OnRedis {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    fn tick(&self) -> Duration {
        Duration::from_millis(150)
    }

    fn pass(&self, time: Duration) -> When<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn spoil<'a>(&'a self, key: &'a Key) -> When<'a, bool> {
        Box::pin(async move {
            self.cli(&[b"SET", key.as_str().as_bytes(), b"somebody else's", b"PX", b"60000"]);
            true
        })
    }
}

macro_rules! on {
    ($name:ident, $binary:ident) => {
        mod $name {
            use super::*;

            static SERVER: OnceLock<Option<Redis>> = OnceLock::new();

            fn server() -> Option<&'static Redis> {
                SERVER.get_or_init(|| servers::needed(Redis::start(RedisBinary::$binary))).as_ref()
            }

            async fn harness() -> OnRedis {
                OnRedis::new(server().expect("looked for before")).await
            }

            #[test]
            fn every_case() {
                let Some(_) = server() else { return };
                // One test a server: each test is a process of its own under nextest, and would start one.
                let failed: Vec<_> = std::thread::scope(|scope| {
                    let lanes = 16;
                    let cases = idempotent_runtime::conformance::CASES;
                    let threads: Vec<_> = (0..lanes)
                        .map(|lane| {
                            scope.spawn(move || {
                                let mut failed = Vec::new();
                                for case in cases.iter().skip(lane).step_by(lanes) {
                                    let run = || idempotent_runtime::conformance::run(case.name, harness);
                                    if std::panic::catch_unwind(run).is_err() {
                                        failed.push(case.name);
                                    }
                                }
                                failed
                            })
                        })
                        .collect();
                    threads.into_iter().flat_map(|thread| thread.join().expect("panics are caught")).collect()
                });
                assert!(failed.is_empty(), "{failed:?}");
            }
        }
    };
}

on!(debian_redis, System);
on!(redis_8_2, Redis8_2);
on!(valkey_9_1, Valkey9_1);
