//! Waiting over `LISTEN` and `NOTIFY`: on PostgreSQL, by choice.

use std::time::{Duration, Instant};

use idempotent_runtime::store::PostgresStore;
use idempotent_runtime::{Error, Idempotency, OnBusy};
use servers::Postgres;
use sqlx::postgres::PgListener;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::support::postgres;

/// By now a waiter that is not woken looks every one to two seconds.
const LONG: Duration = Duration::from_secs(4);

/// Runs that end when they are told to, and others that wait for them.
struct Shop {
    server: Postgres,
    here: Idempotency,
    elsewhere: Idempotency,
    end: watch::Sender<bool>,
}

impl Shop {
    async fn open() -> Option<Self> {
        let server = postgres()?;
        let [here, elsewhere] = [Self::handle(&server).await, Self::handle(&server).await];
        Some(Self { server, here, elsewhere, end: watch::Sender::new(false) })
    }

    /// As another process has it.
    async fn handle(server: &Postgres) -> Idempotency {
        let store = PostgresStore::builder().wake_over(&server.url()).connect(&server.url()).await;
        Idempotency::with_store(store.expect("the server was started for this"))
    }

    /// A run, which has begun.
    async fn run(&self, order: u32) -> JoinHandle<()> {
        let (begun, mut has_begun) = watch::channel(false);
        let mut end = self.end.subscribe();
        let call = self.elsewhere.call("order").key(order).ttl(Duration::from_mins(10));
        let run = tokio::spawn(async move {
            let run = call.run(async move {
                begun.send_replace(true);
                end.wait_for(|end| *end).await.expect("the test goes on");
                Ok::<u32, Error>(order)
            });
            assert_eq!(run.await.expect("it runs"), order);
        });
        has_begun.wait_for(|begun| *begun).await.expect("it begins");
        run
    }

    /// Waits for that run; how long after `self.end` it had the answer.
    fn wait(&self, order: u32) -> JoinHandle<Duration> {
        let mut end = self.end.subscribe();
        let call = self.here.call("order").key(order).ttl(Duration::from_mins(10));
        let waiting = call.on_busy(OnBusy::Wait(Duration::from_secs(30)));
        tokio::spawn(async move {
            let mut answer = std::pin::pin!(waiting.run(async { Err::<u32, Error>(unreachable_body()) }));
            let ended = tokio::select! {
                early = &mut answer => panic!("the run has not ended: {early:?}"),
                _ = end.wait_for(|end| *end) => Instant::now(),
            };
            assert_eq!(answer.await.expect("it is answered"), order);
            ended.elapsed()
        })
    }

    async fn count(&self, sql: &'static str) -> i64 {
        let mut connection = PgConnection::connect(&self.server.url()).await.expect("the server is there");
        sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("it is counted")
    }

    async fn until(&self, what: &str, sql: &'static str, wanted: i64) {
        let started = Instant::now();
        while self.count(sql).await != wanted {
            assert!(started.elapsed() < Duration::from_secs(10), "{what}: not within ten seconds");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn unreachable_body() -> Error {
    unreachable!("the run that it waits for has not failed")
}

const AWAITED: &str = "SELECT count(*) FROM idempotency_records WHERE awaited IS NOT NULL";
const LISTENING: &str = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_are_woken_well_before_they_look() {
    let Some(shop) = Shop::open().await else { return };
    let mut waiting = Vec::new();
    for order in 0..6 {
        drop(shop.run(order).await);
        waiting.push(shop.wait(order));
    }
    shop.until("every row is marked", AWAITED, 6).await;
    assert_eq!(shop.count(LISTENING).await, 1, "one connection for all of a store");
    tokio::time::sleep(LONG).await;
    shop.end.send_replace(true);
    for waiter in waiting {
        let woken_after = waiter.await.expect("it is answered");
        println!("woken after {woken_after:?}");
        assert!(woken_after < Duration::from_millis(600), "{woken_after:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_connection_a_waiter_polls_and_then_it_is_made_again() {
    let Some(shop) = Shop::open().await else { return };
    drop(shop.run(1).await);
    let waiting = shop.wait(1);
    shop.until("the row is marked", AWAITED, 1).await;
    let killed = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
    assert_eq!(shop.count(killed).await, 1);
    shop.end.send_replace(true);
    assert!(waiting.await.expect("it is answered") < Duration::from_secs(3));

    shop.end.send_replace(false);
    drop(shop.run(2).await);
    let waiting = shop.wait(2);
    shop.until("there is another connection", LISTENING, 1).await;
    shop.until("the row is marked", AWAITED, 2).await;
    tokio::time::sleep(LONG).await;
    shop.end.send_replace(true);
    let woken_after = waiting.await.expect("it is answered");
    assert!(woken_after < Duration::from_millis(600), "{woken_after:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_18_an_end_is_told_only_where_somebody_waits() {
    let Some(shop) = Shop::open().await else { return };
    let mut told = PgListener::connect(&shop.server.url()).await.unwrap();
    told.listen("idempotency_records_ended").await.unwrap();
    for order in 0..20 {
        let call = shop.here.call("quiet").key(order).ttl(Duration::from_mins(10));
        call.run(async { Ok::<u32, Error>(order) }).await.unwrap();
    }
    drop(shop.run(1).await);
    let waiting = shop.wait(1);
    shop.until("the row is marked", AWAITED, 1).await;
    shop.end.send_replace(true);
    waiting.await.unwrap();
    let digest: String = {
        let mut connection = PgConnection::connect(&shop.server.url()).await.unwrap();
        let sql = "SELECT encode(digest, 'hex') FROM idempotency_records WHERE key = 'order:1'";
        sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
    };
    assert_eq!(told.recv().await.unwrap().payload(), digest, "the first that is told is the one that was awaited");
}
