//! What a client must survive: answers that are lost after the commit, and a server that is killed there.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use idempotent_runtime::{Error, Idempotency, with_outcome};
use servers::{Postgres, Proxy};

struct Shop {
    idempotency: Idempotency,
    proxy: Proxy,
    server: Postgres,
    runs: AtomicU32,
}

impl Shop {
    async fn open() -> Option<Self> {
        let server = servers::needed(Postgres::builder().durable().start())?;
        let proxy = Proxy::start(server.port()).expect("the proxy starts");
        let idempotency = Idempotency::builder().store_timeout(Duration::from_secs(20));
        let idempotency = idempotency.settle_timeout(Duration::from_secs(20));
        let idempotency =
            idempotency.connect(&proxy.url(&server.url())).await.expect("the server was started for this");
        let shop = Self { idempotency, proxy, server, runs: AtomicU32::new(0) };
        // From here on every statement is prepared: one request each.
        assert_eq!(shop.call(0, || ()).await, (0, "executed"));
        assert_eq!(shop.call(0, || ()).await, (0, "replayed"));
        shop.runs.store(0, Ordering::Relaxed);
        Some(shop)
    }

    async fn call(&self, order: u32, meanwhile: impl FnOnce() + Send) -> (u32, &'static str) {
        let call = self.idempotency.call("order").key(order).ttl(Duration::from_mins(10));
        let run = call.run(async {
            self.runs.fetch_add(1, Ordering::Relaxed);
            meanwhile();
            Ok::<u32, Error>(order)
        });
        let (value, outcome) = with_outcome(run).await;
        (value.expect("the store is there again in time"), outcome.as_str())
    }

    /// Kills the server when an answer has been lost, and starts it again.
    fn crash_when_an_answer_is_lost(&self) {
        let (lost, started) = (self.proxy.answers_lost(), Instant::now());
        while self.proxy.answers_lost() == lost {
            assert!(started.elapsed() < Duration::from_secs(10), "no answer is lost");
            std::thread::sleep(Duration::from_micros(100));
        }
        self.server.kill().expect("the server is killed");
        self.server.restart().expect("the server comes back");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_answer_is_lost_runs_once() {
    let Some(shop) = Shop::open().await else { return };
    shop.proxy.lose_answers(1);
    assert_eq!(shop.call(1, || ()).await, (1, "executed"));
    assert_eq!(shop.proxy.answers_lost(), 1);
    assert_eq!(shop.call(1, || ()).await, (1, "replayed"));
    assert_eq!(shop.runs.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_completion_whose_answer_is_lost_stands() {
    let Some(shop) = Shop::open().await else { return };
    assert_eq!(shop.call(1, || shop.proxy.lose_answers(1)).await, (1, "executed"));
    assert_eq!(shop.proxy.answers_lost(), 1);
    assert_eq!(shop.call(1, || ()).await, (1, "replayed"));
    assert_eq!(shop.runs.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_killed_between_commit_and_answer_keeps_what_it_committed() {
    let Some(shop) = Shop::open().await else { return };
    for order in 1..=3 {
        let called = std::thread::scope(|scope| {
            let crash = scope.spawn(|| shop.crash_when_an_answer_is_lost());
            let called = tokio::task::block_in_place(|| {
                let runtime = tokio::runtime::Handle::current();
                runtime.block_on(shop.call(order, || shop.proxy.lose_answers(1)))
            });
            crash.join().expect("the server comes back");
            called
        });
        assert_eq!(called, (order, "executed"));
        assert_eq!(shop.call(order, || ()).await, (order, "replayed"));
    }
    assert_eq!(shop.runs.load(Ordering::Relaxed), 3);
}
