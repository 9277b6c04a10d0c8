//! Behind PgBouncer in transaction mode: Debian's, which knows no prepared statements.

use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::store::PostgresStore;
use idempotent_runtime::{Error, Idempotency, OnBusy, OutcomeKind, with_outcome};
use servers::{PgBouncer, Postgres};
use sqlx::pool::PoolOptions;

/// Fewer than there are clients, so that each gets another one every time.
const CONNECTIONS: u32 = 3;

fn pooler() -> Option<(Postgres, PgBouncer)> {
    let server = servers::needed(Postgres::start())?;
    let pooler = servers::needed(PgBouncer::start(&server, CONNECTIONS))?;
    Some((server, pooler))
}

async fn store(pooler: &PgBouncer) -> PostgresStore {
    let store = PostgresStore::builder().behind_pooler().timeout(Duration::from_secs(10));
    store.connect(&pooler.url()).await.expect("the pooler was started for this")
}

#[tokio::test(flavor = "multi_thread")]
async fn point_18_a_call_in_its_callers_transaction_works_behind_a_pooler() {
    let Some((_server, pooler)) = pooler() else { return };
    let idempotency = Idempotency::with_store(store(&pooler).await);
    let pool = PoolOptions::<sqlx::Postgres>::new().max_connections(20).acquire_timeout(Duration::from_mins(1));
    let pool = pool.connect(&pooler.url()).await.unwrap();
    sqlx::raw_sql("CREATE TABLE effects (name text NOT NULL)").execute(&pool).await.unwrap();
    let shop = Arc::new((idempotency, pool));
    let crowd: Vec<_> = (0..60)
        .map(|at| {
            let shop = Arc::clone(&shop);
            tokio::spawn(async move {
                let (idempotency, pool) = &*shop;
                let mut tx = pool.begin().await.unwrap();
                let call = idempotency.call("pay").key(at % 3).ttl(Duration::from_mins(10));
                let call = call.on_busy(OnBusy::Wait(Duration::from_secs(30)));
                let call = call.within(&mut tx, async |mut tx| {
                    sqlx::raw_sql("INSERT INTO effects VALUES ('paid')").execute(&mut **tx).await.unwrap();
                    Ok::<_, Error>(at % 3)
                });
                let (result, outcome) = with_outcome(call).await;
                tx.commit().await.unwrap();
                (at % 3, result.unwrap(), outcome.kind())
            })
        })
        .collect();
    let mut ran = 0;
    for one in crowd {
        let (asked, got, kind) = one.await.unwrap();
        assert_eq!(asked, got);
        ran += i64::from(kind == OutcomeKind::Executed);
    }
    let effects: i64 =
        sqlx::query_scalar("SELECT count(*) FROM effects").persistent(false).fetch_one(&shop.1).await.unwrap();
    assert_eq!((ran, effects), (3, 3));
}
