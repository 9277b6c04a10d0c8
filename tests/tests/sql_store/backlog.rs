//! A sweeper that comes late: what a batch takes of PostgreSQL does not grow with what there is to remove. (For SQLite a
//! test of the runtime's own counts the instructions.)

use std::time::{Duration, Instant};

use idempotent_runtime::store::PostgresStore;
use servers::Postgres;
use sqlx::{Connection as _, PgConnection, Row as _};

use crate::support::postgres;

const BATCH: u32 = 50;

/// Fills the table with so many rows that have expired, and behind them some that live.
async fn fill(connection: &mut PgConnection, expired: i64) {
    for (key, count, due, expires_at) in
        [("expired", expired, "1 hour", "-1 hour"), ("living", 10, "1 second", "1 hour")]
    {
        let fill = "INSERT INTO idempotency_records (digest, fence, revision, format, key, state, token, attempt, owner, \
                    expires_at, due) SELECT sha256(convert_to($1 || n, 'UTF8')), n, 1, 1, $1 || n, 'completed', 'token', 1, \
                    'kitchen', (extract(epoch FROM now() + $4::text::interval) * 1000000)::bigint, \
                    (extract(epoch FROM now() - $3::text::interval) * 1000000)::bigint + n FROM generate_series(1, $2) n";
        let fill = sqlx::query(fill).bind(key).bind(count).bind(due).bind(expires_at);
        assert_eq!(fill.execute(&mut *connection).await.unwrap().rows_affected(), u64::try_from(count).unwrap());
    }
    sqlx::raw_sql("VACUUM ANALYZE idempotency_records").execute(connection).await.unwrap();
}

/// Rows of the table that were removed so far, and that were read.
async fn counted(connection: &mut PgConnection) -> (i64, i64) {
    let sql = "SELECT n_tup_del, seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables \
               WHERE relname = 'idempotency_records'";
    let row = sqlx::query(sql).fetch_one(connection).await.unwrap();
    (row.get(0), row.get(1))
}

/// How many rows one batch reads, where so many have expired.
async fn read_by_one_batch(server: &Postgres, connection: &mut PgConnection, expired: i64) -> i64 {
    let store = PostgresStore::builder().sweep_every(None).connect(&server.url()).await.unwrap();
    sqlx::raw_sql("TRUNCATE idempotency_records").execute(&mut *connection).await.unwrap();
    fill(connection, expired).await;
    let (removed, read) = counted(connection).await;
    assert_eq!(store.sweep(BATCH).await.unwrap(), u64::from(BATCH));
    // The server counts what a connection did when that is closed, all at once.
    drop(store);
    let started = Instant::now();
    loop {
        let (now_removed, now_read) = counted(connection).await;
        if now_removed == removed + i64::from(BATCH) {
            return now_read - read;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{now_removed} rows are counted, after {removed}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn point_17_a_batch_reads_no_more_rows_where_more_have_expired() {
    let Some(server) = postgres() else { return };
    PostgresStore::connect(&server.url()).await.unwrap();
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    let few = read_by_one_batch(&server, &mut connection, 10_000).await;
    let many = read_by_one_batch(&server, &mut connection, 30_000).await;
    println!("{few} rows were read for {BATCH}, and {many} with three times as many behind them");
    assert!(few >= i64::from(BATCH), "{few}");
    assert!(many < few * 2 && many < i64::from(BATCH) * 10, "{few} rows, and {many} with three times as many");
}
