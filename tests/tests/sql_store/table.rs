//! The table: its names, how it comes to be, what stands in it, and who removes it.

use std::time::{Duration, Instant};

use idempotent_runtime::store::{
    Acquired, Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Found, Migrate, OnLapse, PostgresStore, Release,
    Retention, SqliteStore, StoreErrorKind,
};
use idempotent_runtime::{CodecTag, Encoded, Idempotency, Key, NoResult, Recorded, Store, Token};
use servers::Postgres;
use sqlx::{Connection as _, PgConnection, Row as _, SqliteConnection};

use crate::support::{File, postgres};

const LEASE: Duration = Duration::from_millis(50);

fn request(token: Token, retention: Retention) -> ClaimRequest<'static> {
    ClaimRequest {
        token,
        owner: "kitchen-1:71",
        fingerprint: None,
        lease: LEASE,
        retention,
        held: retention,
        on_lapse: OnLapse::TakeOver,
        max_attempts: None,
        supersede: None,
        begun: true,
        fenced: true,
    }
}

fn result(bytes: &[u8]) -> Recorded {
    Recorded::Value(Encoded { codec: CodecTag::JSON, bytes: bytes.into() })
}

async fn complete(store: &dyn Store, key: &Key, retention: Retention) {
    let token = Token::random();
    let claimed = store.claim(key, &request(token, Retention::For(Duration::from_mins(1)))).await.unwrap();
    assert!(matches!(claimed, ClaimAnswer::Acquired(_)), "{claimed:?}");
    let completed = store.complete(key, token, &result(b"7"), retention).await.unwrap();
    assert_eq!(completed, CompleteAnswer::Held);
}

/// What the sweeper would find a minute from now: its slack, and all short retentions, are over.
async fn a_minute_later(url: &str) {
    let sql = "UPDATE idempotency_records SET due = due - 120000000, expires_at = expires_at - 120000000";
    if url.starts_with("sqlite:") {
        let mut connection = SqliteConnection::connect(url).await.unwrap();
        sqlx::query(sql).execute(&mut connection).await.unwrap();
    } else {
        let mut connection = PgConnection::connect(url).await.unwrap();
        sqlx::query(sql).execute(&mut connection).await.unwrap();
    }
}

/// Both stores have these by the same names.
macro_rules! sweeping {
    ($name:ident, $store:expr, $url:expr) => {
        mod $name {
            use super::*;

            #[tokio::test]
            async fn point_21_what_was_done_before_is_imported_as_completed() {
                let Some(place) = $url else { return };
                let store = $store(&place).await;
                let [old, known, other] = ["old", "known", "other"].map(Key::from_text);
                complete(&store, &known, Retention::Forever).await;
                let (value, nothing) = (result(b"12"), Recorded::Nothing(NoResult::NotWanted));
                let (forever, hour) = (Retention::Forever, Retention::For(Duration::from_hours(1)));
                let done = [(&old, &value, forever), (&known, &value, hour), (&other, &nothing, hour)];
                assert_eq!(store.import(done).await.unwrap(), 2, "one was known already");
                assert_eq!(store.import(done).await.unwrap(), 0, "it can be repeated");
                for (key, expected) in [(&old, &value), (&known, &result(b"7")), (&other, &nothing)] {
                    let answer = store.claim(key, &request(Token::random(), hour)).await.unwrap();
                    let ClaimAnswer::Completed(record) = answer else { panic!("{answer:?}") };
                    assert_eq!(&record.result, expected);
                }
                a_minute_later(&place.url()).await;
                assert_eq!(store.sweep(10).await.unwrap(), 0, "each for its own time");
            }

            #[tokio::test]
            async fn what_has_expired_is_swept_and_nothing_else() {
                let Some(place) = $url else { return };
                let (url, store) = (place.url(), $store(&place).await);
                let [live, kept, gone, failed] = ["live", "kept", "gone", "failed"].map(Key::from_text);
                let long = Retention::For(Duration::from_hours(24));
                store.claim(&live, &request(Token::random(), long)).await.unwrap();
                complete(&store, &kept, Retention::Forever).await;
                complete(&store, &gone, Retention::For(Duration::from_secs(1))).await;
                let token = Token::random();
                store.claim(&failed, &request(token, Retention::For(Duration::from_secs(1)))).await.unwrap();
                store.release(&failed, token, Release::Failed("burnt"), LEASE).await.unwrap();
                assert_eq!(store.sweep(10).await.unwrap(), 0, "nothing has expired");
                a_minute_later(&url).await;
                assert_eq!(store.sweep(1).await.unwrap(), 1, "one at a time");
                assert_eq!(store.sweep(10).await.unwrap(), 1);
                assert_eq!(store.sweep(10).await.unwrap(), 0);
                let admin = store.admin().unwrap();
                for (key, is_there) in [(&live, true), (&kept, true), (&gone, false), (&failed, false)] {
                    assert_eq!(admin.inspect(key).await.unwrap().is_some(), is_there, "{key}");
                }
            }

            #[tokio::test]
            async fn a_renewed_claim_is_put_off() {
                let Some(place) = $url else { return };
                let (url, store) = (place.url(), $store(&place).await);
                let (key, token) = (Key::from_text("renewed"), Token::random());
                store.claim(&key, &request(token, Retention::For(Duration::from_mins(1)))).await.unwrap();
                a_minute_later(&url).await;
                // Expired by now; another makes it anew, and the sweeper's time for it is that of the old one.
                let another = Token::random();
                store.claim(&key, &request(another, Retention::For(Duration::from_mins(1)))).await.unwrap();
                assert_eq!(store.sweep(10).await.unwrap(), 0);
                assert_eq!(store.renew(&key, another).await.unwrap(), Answer::Held);
            }

            #[tokio::test]
            async fn expired_records_are_handed_on_before_they_go() {
                let Some(place) = $url else { return };
                let (url, store) = (place.url(), $store(&place).await);
                complete(&store, &Key::from_text("gone"), Retention::For(Duration::from_secs(1))).await;
                a_minute_later(&url).await;
                let refused = store.sweep_with(10, async |_| Err("the archive is full".into())).await.unwrap_err();
                assert!(refused.to_string().contains("the archive is full"), "{refused}");
                let mut archived = Vec::new();
                let nobody = store.sweep_with(10, async |expired| {
                    archived.extend_from_slice(expired);
                    Ok(())
                });
                assert_eq!(nobody.await.unwrap(), 0, "they are with the first sweeper for a minute");
                a_minute_later(&url).await;
                let removed = store.sweep_with(10, async |expired| {
                    archived.extend_from_slice(expired);
                    Ok(())
                });
                assert_eq!(removed.await.unwrap(), 1);
                let [expired] = &archived[..] else { panic!("{archived:?}") };
                assert_eq!(expired.key, "gone");
                let record = expired.record.as_ref().expect("it can be read");
                assert_eq!(record.state, idempotent_runtime::admin::State::Completed(result(b"7")));
                assert_eq!(store.sweep(10).await.unwrap(), 0, "it is gone");
            }

            #[tokio::test]
            async fn a_fence_grows_also_when_the_record_was_swept() {
                let Some(place) = $url else { return };
                let (url, store) = (place.url(), $store(&place).await);
                let key = Key::from_text("fenced");
                let mut last = None;
                for _ in 0..3 {
                    let token = Token::random();
                    let claimed = store.claim(&key, &request(token, Retention::For(Duration::from_secs(1)))).await;
                    let ClaimAnswer::Acquired(Acquired { attempt: 1, found: Found::Absent, fence }) = claimed.unwrap()
                    else {
                        panic!("the record was swept")
                    };
                    assert!(fence > last, "{fence:?} after {last:?}");
                    last = fence;
                    a_minute_later(&url).await;
                    assert_eq!(store.sweep(10).await.unwrap(), 1);
                }
            }
        }
    };
}

async fn on_postgres(server: &Postgres) -> PostgresStore {
    PostgresStore::builder().sweep_every(None).connect(&server.url()).await.unwrap()
}

async fn on_sqlite(file: &File) -> SqliteStore {
    SqliteStore::builder().sweep_every(None).connect(&file.url()).await.unwrap()
}

sweeping!(in_postgres, on_postgres, postgres());
sweeping!(in_sqlite, on_sqlite, Some(File::new()));

#[tokio::test]
async fn the_store_sweeps_by_itself() {
    let file = File::new();
    let store = SqliteStore::builder().sweep_every(Some(Duration::from_millis(20))).connect(&file.url()).await.unwrap();
    complete(&store, &Key::from_text("gone"), Retention::For(Duration::from_secs(1))).await;
    a_minute_later(&file.url()).await;
    let mut connection = SqliteConnection::connect(&file.url()).await.unwrap();
    let started = Instant::now();
    loop {
        let row = sqlx::query("SELECT count(*) FROM idempotency_records").fetch_one(&mut connection).await.unwrap();
        if row.get::<i64, _>(0) == 0 {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "not swept within ten seconds");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_schema_and_a_table_of_ones_own_made_by_hand() {
    let Some(server) = postgres() else { return };
    let builder = PostgresStore::builder().schema("shop").table("kitchen_1").migrate(Migrate::ByHand);
    let missing = builder.clone().connect(&server.url()).await.unwrap_err();
    assert_eq!(missing.kind(), StoreErrorKind::Refused);
    assert!(missing.to_string().contains(r#"the table "shop"."kitchen_1" is missing or old"#), "{missing}");
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    let sql = builder.migrations().unwrap();
    for _ in 0..2 {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql.clone())).execute(&mut connection).await.unwrap();
    }
    let store = builder.connect(&server.url()).await.unwrap();
    complete(&store, &Key::from_text("order:1"), Retention::Forever).await;
    let row = sqlx::query("SELECT state, owner FROM shop.kitchen_1 WHERE key = 'order:1'");
    let row = row.fetch_one(&mut connection).await.unwrap();
    assert_eq!((row.get::<&str, _>(0), row.get::<&str, _>(1)), ("completed", "kitchen-1:71"));
}

#[tokio::test]
async fn a_user_without_the_right_to_make_tables_can_work() {
    let Some(server) = postgres() else { return };
    PostgresStore::connect(&server.url()).await.unwrap();
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    let grants = "CREATE USER clerk; REVOKE CREATE ON SCHEMA public FROM PUBLIC; \
                  GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_records TO clerk; \
                  GRANT SELECT ON idempotency_records_migrations TO clerk; \
                  GRANT USAGE ON SEQUENCE idempotency_records_fence TO clerk";
    sqlx::raw_sql(grants).execute(&mut connection).await.unwrap();
    let store = PostgresStore::connect(&server.url().replace("postgres@", "clerk@")).await.unwrap();
    complete(&store, &Key::from_text("order:1"), Retention::Forever).await;
}

#[tokio::test]
async fn all_that_start_at_once_make_one_table() {
    let Some(server) = postgres() else { return };
    let file = File::new();
    let (urls, mut starting) = ([server.url(), file.url()], Vec::new());
    for at in 0..20 {
        let url = urls[at % 2].clone();
        starting.push(tokio::spawn(async move { Idempotency::connect(&url).await.map(drop) }));
    }
    for started in starting {
        started.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn names_that_are_none_are_refused() {
    for wrong in ["", "Orders", "a\"; DROP TABLE orders; --"] {
        let refused = SqliteStore::builder().table(wrong).connect("sqlite:never.db").await.unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::Refused, "{refused}");
        assert!(PostgresStore::builder().schema(wrong).migrations().is_err(), "{wrong:?}");
    }
}

#[tokio::test]
async fn a_database_in_memory_is_refused_with_what_to_use() {
    let refused = Idempotency::connect("sqlite::memory:").await.unwrap_err();
    assert!(refused.to_string().contains("use the memory store (`memory:`), or a file"), "{refused}");
}

/// Counts, of the updates of the table, all and those that left every index alone.
async fn updates(connection: &mut PgConnection) -> (i64, i64) {
    sqlx::query("SELECT pg_stat_force_next_flush()").execute(&mut *connection).await.unwrap();
    let sql = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'idempotency_records'";
    let row = sqlx::query(sql).fetch_one(connection).await.unwrap();
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn renewals_and_completions_are_hot_and_large_results_lie_apart() {
    let Some(server) = postgres() else { return };
    let store = on_postgres(&server).await;
    let kept = Retention::For(Duration::from_hours(24));
    for at in 0..200 {
        let (key, token) = (Key::from_text(&format!("order:{at}")), Token::random());
        store.claim(&key, &request(token, kept)).await.unwrap();
        assert_eq!(store.renew(&key, token).await.unwrap(), Answer::Held);
        let large = result(&rand_bytes(at, 20_000));
        assert_eq!(store.complete(&key, token, &large, kept).await.unwrap(), CompleteAnswer::Held);
    }
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    let started = Instant::now();
    let (all, hot) = loop {
        let (all, hot) = updates(&mut connection).await;
        if all == 400 {
            break (all, hot);
        }
        assert!(started.elapsed() < Duration::from_secs(10), "{all} updates are counted");
        drop(store.claim(&Key::from_text("order:0"), &request(Token::random(), kept)).await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    println!("{hot} of {all} updates were HOT");
    assert!(hot * 10 >= all * 9, "{hot} of {all} updates were HOT");
    let sql = "SELECT pg_relation_size('idempotency_records')";
    let size: i64 = sqlx::query(sql).fetch_one(&mut connection).await.unwrap().get(0);
    assert!(size < 200 * 2000, "the hot part takes {size} bytes");
}

/// Bytes that do not compress.
fn rand_bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    })
    .take(length)
    .collect()
}
