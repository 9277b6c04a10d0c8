//! Numbered points of what the SQL stores promise that have no other place.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use idempotent_runtime::store::{
    ClaimAnswer, ClaimRequest, OnLapse, PostgresStore, Retention, SqliteStore, StoreErrorKind,
};
use idempotent_runtime::{ErrorKind, Idempotency, Key, Store, Token};
use servers::{Fault, Proxy};
use sqlx::{Connection as _, PgConnection, SqliteConnection};

use crate::support::{File, postgres};

fn request(token: Token, retention: Retention) -> ClaimRequest<'static> {
    ClaimRequest {
        token,
        owner: "kitchen-1:71",
        fingerprint: None,
        lease: Duration::from_secs(30),
        retention,
        held: Retention::Forever,
        on_lapse: OnLapse::TakeOver,
        max_attempts: None,
        supersede: None,
        begun: true,
        fenced: false,
    }
}

/// Claims a key that nobody has.
async fn acquire(store: &dyn Store, key: &str) {
    let key = Key::from_text(key);
    let claimed = store.claim(&key, &request(Token::random(), Retention::For(Duration::from_mins(1)))).await;
    assert!(matches!(claimed, Ok(ClaimAnswer::Acquired(_))), "{key}: {claimed:?}");
}

async fn count(url: &str, sql: &'static str) -> i64 {
    let mut connection = PgConnection::connect(url).await.expect("the server was started for this");
    sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("it is counted")
}

/// Each operation is a transaction here, and ends at every stage of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_13_an_operation_that_is_dropped_leaves_no_transaction_open() {
    let Some(server) = postgres() else { return };
    let proxy = Proxy::start(server.port()).expect("the proxy starts");
    let store = PostgresStore::builder().behind_pooler().sweep_every(None).timeout(Duration::from_secs(10));
    let store = Arc::new(store.connect(&proxy.url(&server.url())).await.expect("the server was started for this"));
    proxy.set(Fault::DelayAnswers(Duration::from_millis(10))).expect("it is slow now");
    let dropped: Vec<_> = (0..60_u64)
        .map(|at| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let key = Key::from_text(&format!("dropped:{at}"));
                let request = request(Token::random(), Retention::For(Duration::from_mins(1)));
                tokio::time::timeout(Duration::from_millis(3 * at), store.claim(&key, &request)).await.is_err()
            })
        })
        .collect();
    let mut drops = 0;
    for one in dropped {
        drops += u32::from(one.await.expect("it does not panic"));
    }
    assert!(drops > 10, "only {drops} were dropped");
    proxy.set(Fault::None).expect("it is quick again");
    let started = Instant::now();
    let open = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'";
    while count(&server.url(), open).await > 0 {
        assert!(started.elapsed() < Duration::from_secs(10), "transactions stay open");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // What is answered now is committed: others see it.
    for at in 0..20 {
        acquire(&*store, &format!("after:{at}")).await;
    }
    let committed = "SELECT count(*) FROM idempotency_records WHERE key LIKE 'after:%'";
    assert_eq!(count(&server.url(), committed).await, 20);
}

#[tokio::test]
async fn point_15_the_unique_key_is_a_digest_that_is_never_null_and_keys_may_be_anything() {
    let Some(server) = postgres() else { return };
    let store = PostgresStore::builder().sweep_every(None).connect(&server.url()).await.unwrap();
    let columns = "SELECT count(*) FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) \
                   WHERE i.indrelid = 'idempotency_records'::regclass AND i.indisunique AND a.attname = 'digest' \
                   AND a.attnotnull AND a.atttypid = 'bytea'::regtype AND i.indnatts = 1";
    assert_eq!(count(&server.url(), columns).await, 1);
    let unique = "SELECT count(*) FROM pg_index WHERE indrelid = 'idempotency_records'::regclass AND indisunique";
    assert_eq!(count(&server.url(), unique).await, 1, "and there is no other");
    // Longer than an index takes, and apart in their last character; with what text in PostgreSQL cannot hold.
    let long = "k".repeat(100_000);
    for key in ["nul:\0", "nul:\0\0", "nul:", &format!("{long}1"), &format!("{long}2")] {
        acquire(&store, key).await;
    }
    let lengths = "SELECT count(DISTINCT digest) FROM idempotency_records WHERE octet_length(digest) = 32";
    assert_eq!(count(&server.url(), lengths).await, 5);
}

#[tokio::test]
async fn point_16_only_the_key_and_the_time_to_sweep_are_indexed_and_pages_have_room() {
    let Some(server) = postgres() else { return };
    PostgresStore::connect(&server.url()).await.unwrap();
    let indexed = "SELECT count(*) FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) \
                   WHERE i.indrelid = 'idempotency_records'::regclass AND a.attname NOT IN ('digest', 'due')";
    assert_eq!(count(&server.url(), indexed).await, 0);
    let room = "SELECT count(*) FROM pg_class, unnest(reloptions) option WHERE oid = 'idempotency_records'::regclass \
                AND option LIKE 'fillfactor=%' AND split_part(option, '=', 2)::int < 100";
    assert_eq!(count(&server.url(), room).await, 1);
}

/// A sweeper and a call meet at one row: the call has it.
#[tokio::test]
async fn point_17_a_row_that_another_has_locked_is_left_to_it() {
    let Some(server) = postgres() else { return };
    let store = PostgresStore::builder().sweep_every(None).connect(&server.url()).await.unwrap();
    acquire(&store, "locked").await;
    acquire(&store, "free").await;
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    let expire = "UPDATE idempotency_records SET due = 1, expires_at = 1";
    assert_eq!(sqlx::query(expire).execute(&mut connection).await.unwrap().rows_affected(), 2);
    let mut other = connection.begin().await.unwrap();
    let lock = "SELECT 1 FROM idempotency_records WHERE key = 'locked' FOR UPDATE";
    sqlx::query(lock).fetch_one(&mut *other).await.unwrap();
    // It would fail, after two seconds, if it waited.
    assert_eq!(store.sweep(10).await.unwrap(), 1, "the one that is free");
    assert_eq!(store.sweep_with(10, async |_| Ok(())).await.unwrap(), 0);
    other.rollback().await.unwrap();
    assert_eq!(store.sweep(10).await.unwrap(), 1);
}

#[tokio::test]
async fn point_18_the_table_is_logged_and_a_standby_is_no_store() {
    let Some(server) = postgres() else { return };
    let idempotency = Idempotency::connect(&server.url()).await.unwrap();
    let logged = "SELECT count(*) FROM pg_class WHERE relname LIKE 'idempotency_records%' AND relpersistence <> 'p'";
    assert_eq!(count(&server.url(), logged).await, 0);
    let store = PostgresStore::connect(&server.url()).await.unwrap();
    acquire(&store, "before").await;
    let on_standby = |found: Vec<idempotent_runtime::admin::Concern>| {
        found.iter().any(|found| found.to_string().contains("standby"))
    };
    assert!(!on_standby(idempotency.check().await.unwrap()), "it is the primary");

    // The same server, as a standby of nobody.
    server.kill().expect("it is killed");
    let signal = server.folder().join("data/standby.signal");
    std::fs::write(&signal, "").expect("the folder is ours");
    server.restart().expect("it starts as a standby");
    let refused = loop {
        // The connections to the killed server are found to be gone one by one.
        let request = request(Token::random(), Retention::For(Duration::from_mins(1)));
        let refused = store.claim(&Key::from_text("on the standby"), &request).await.unwrap_err();
        if refused.to_string().contains("read-only") {
            break refused;
        }
        assert_eq!(refused.kind(), StoreErrorKind::Unavailable, "{refused}");
    };
    assert_eq!(refused.kind(), StoreErrorKind::Unavailable, "another may be the primary by now: {refused}");
    let found = loop {
        match idempotency.check().await {
            Ok(found) => break found,
            Err(error) => assert_eq!(error.kind(), ErrorKind::StoreUnavailable, "{error}"),
        }
    };
    assert!(on_standby(found));

    assert_eq!(count(&server.url(), "SELECT pg_promote()::int::bigint").await, 1);
    let known = store.claim(&Key::from_text("before"), &request(Token::random(), Retention::Forever)).await.unwrap();
    assert!(matches!(known, ClaimAnswer::InProgress { .. }), "{known:?}");
}

/// What is held for a person is swept by nobody.
#[tokio::test]
async fn point_17_a_held_record_stays() {
    let Some(server) = postgres() else { return };
    let file = File::new();
    let in_file = SqliteStore::builder().sweep_every(None).connect(&file.url()).await.unwrap();
    let on_server = PostgresStore::builder().sweep_every(None).connect(&server.url()).await.unwrap();
    acquire(&in_file, "held").await;
    acquire(&on_server, "held").await;
    // Its lease is over, and a minute would have been enough for any other.
    let later = "UPDATE idempotency_records SET due = 1, live_until = 1";
    sqlx::query(later).execute(&mut SqliteConnection::connect(&file.url()).await.unwrap()).await.unwrap();
    sqlx::query(later).execute(&mut PgConnection::connect(&server.url()).await.unwrap()).await.unwrap();
    assert_eq!([in_file.sweep(10).await.unwrap(), on_server.sweep(10).await.unwrap()], [0, 0]);
    for store in [&in_file as &dyn Store, &on_server] {
        let held = ClaimRequest { on_lapse: OnLapse::Hold, ..request(Token::random(), Retention::Forever) };
        let answer = store.claim(&Key::from_text("held"), &held).await.unwrap();
        assert!(matches!(answer, ClaimAnswer::Abandoned { attempt: 1, .. }), "{answer:?}");
    }
}

#[tokio::test]
async fn a_file_is_written_ahead_and_keeps_its_log() {
    let file = File::new();
    let store = SqliteStore::connect(&file.url()).await.unwrap();
    acquire(&store, "one").await;
    let mut connection = SqliteConnection::connect(&file.url()).await.unwrap();
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut connection).await.unwrap();
    assert_eq!(mode, "wal");
    let path = file.url().trim_start_matches("sqlite:").to_owned();
    assert!(Path::new(&format!("{path}-wal")).exists());
}
