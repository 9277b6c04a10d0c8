//! What is PostgreSQL's own: other transactions, isolation levels, locks and broken transactions.

use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::{CallBuilder, ErrorKind, Idempotency, OnBusy, OutcomeKind, idempotent, with_outcome};
use sqlx::{PgConnection, Postgres, Transaction};

use crate::error::Failed;
use crate::pg::Shop;

const PATIENCE: Duration = Duration::from_secs(30);

fn call(idempotency: &Idempotency, key: &str, patience: Duration) -> CallBuilder {
    idempotency.call("pay").key(key).ttl(Duration::from_mins(10)).on_busy(OnBusy::Wait(patience))
}

async fn write(tx: &mut Transaction<'_, Postgres>, name: &str) -> Result<(), Failed> {
    sqlx::query("INSERT INTO effects (name) VALUES ($1)").bind(name).execute(&mut **tx).await?;
    Ok(())
}

/// Writes an effect and gives `value`.
async fn pay(
    idempotency: &Idempotency,
    tx: &mut Transaction<'_, Postgres>,
    key: &str,
    value: u32,
    patience: Duration,
) -> Result<u32, Failed> {
    call(idempotency, key, patience)
        .within(tx, async |mut tx| {
            write(&mut tx, key).await?;
            Ok(value)
        })
        .await
}

async fn lock_timeout(tx: &mut PgConnection) -> String {
    sqlx::query_scalar("SELECT current_setting('lock_timeout')").fetch_one(tx).await.expect("it is a setting")
}

/// A duplicate in a transaction of its own, on a task: it pays 2, and commits.
fn duplicate(shop: &Arc<Shop>, key: &'static str) -> tokio::task::JoinHandle<(Result<u32, Failed>, OutcomeKind)> {
    let shop = Arc::clone(shop);
    tokio::spawn(async move {
        let mut tx = shop.begin().await;
        let (result, outcome) = with_outcome(pay(&shop.idempotency, &mut tx, key, 2, PATIENCE)).await;
        tx.commit().await.expect("it is committed");
        (result, outcome.kind())
    })
}

#[tokio::test]
async fn point_1_claim_body_and_completion_use_the_callers_one_connection() {
    let Some(shop) = Shop::with(1).await else { return };
    let mut tx = shop.begin().await;
    assert_eq!(pay(&shop.idempotency, &mut tx, "one", 1, PATIENCE).await, Ok(1));
    assert_eq!(shop.pool.size(), 1);
    tx.commit().await.unwrap();
    assert_eq!(shop.effects("one").await, 1);
    let mut connection = shop.pool.acquire().await.unwrap();
    let outside = call(&shop.idempotency, "two", PATIENCE).within(&mut *connection, async |_| Ok::<_, Failed>(1));
    let outside = outside.await.unwrap_err();
    assert_eq!(outside.kind(), Some(ErrorKind::Configuration), "{outside:?}");
}

#[tokio::test]
async fn point_2_an_insertion_that_waited_finds_the_committed_row_in_its_next_statement() {
    let Some(shop) = Shop::open().await.map(Arc::new) else { return };
    let mut tx = shop.begin().await;
    assert_eq!(pay(&shop.idempotency, &mut tx, "committed", 1, PATIENCE).await, Ok(1));
    let waiting = duplicate(&shop, "committed");
    shop.until_somebody_waits().await;
    tx.commit().await.unwrap();
    assert_eq!(waiting.await.unwrap(), (Ok(1), OutcomeKind::Replayed));
    assert_eq!(shop.effects("committed").await, 1);
}

#[tokio::test]
async fn point_2_an_insertion_that_waited_goes_through_after_a_rollback() {
    let Some(shop) = Shop::open().await.map(Arc::new) else { return };
    let mut tx = shop.begin().await;
    assert_eq!(pay(&shop.idempotency, &mut tx, "rolled back", 1, PATIENCE).await, Ok(1));
    let waiting = duplicate(&shop, "rolled back");
    shop.until_somebody_waits().await;
    tx.rollback().await.unwrap();
    assert_eq!(waiting.await.unwrap(), (Ok(2), OutcomeKind::Executed));
    assert_eq!(shop.effects("rolled back").await, 1);
}

#[tokio::test]
async fn point_3_a_row_that_went_between_insert_and_read_is_claimed_anew() {
    let Some(shop) = Shop::open().await else { return };
    let mut tx = shop.begin().await;
    assert_eq!(pay(&shop.idempotency, &mut tx, "reaped", 1, PATIENCE).await, Ok(1));
    tx.commit().await.unwrap();
    // A reaper that comes right after the insertion that found the row, and once.
    let reaper = "CREATE FUNCTION reap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                  DELETE FROM idempotency_records WHERE state = 'completed'; RETURN NULL; END $$; \
                  CREATE TRIGGER reaper AFTER INSERT ON idempotency_records FOR EACH STATEMENT EXECUTE FUNCTION reap()";
    sqlx::raw_sql(reaper).execute(&shop.pool).await.unwrap();
    let mut tx = shop.begin().await;
    let (result, outcome) = with_outcome(pay(&shop.idempotency, &mut tx, "reaped", 2, PATIENCE)).await;
    assert_eq!((result, outcome.kind()), (Ok(2), OutcomeKind::Executed));
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn point_4_a_snapshot_that_is_older_than_the_record_has_to_be_repeated() {
    let Some(shop) = Shop::open().await else { return };
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        let key = if level == "SERIALIZABLE" { "serializable" } else { "repeatable" };
        let begin = || {
            let begin = format!("BEGIN ISOLATION LEVEL {level}");
            shop.pool.begin_with(sqlx::AssertSqlSafe(begin))
        };
        let mut tx = begin().await.unwrap();
        assert_eq!(shop_effects(&mut tx, key).await, 0, "it has its snapshot");
        let mut other = shop.begin().await;
        assert_eq!(pay(&shop.idempotency, &mut other, key, 1, PATIENCE).await, Ok(1));
        other.commit().await.unwrap();
        let Err(Failed::Call(said)) = pay(&shop.idempotency, &mut tx, key, 2, PATIENCE).await else {
            panic!("it cannot see the record")
        };
        assert_eq!((said.kind, said.is_retryable), (ErrorKind::TransactionConflict, true));
        assert!(said.text.contains("repeat the whole of it"), "{}", said.text);
        tx.rollback().await.unwrap();
        let mut tx = begin().await.unwrap();
        assert_eq!(pay(&shop.idempotency, &mut tx, key, 2, PATIENCE).await, Ok(1));
        tx.commit().await.unwrap();
        assert_eq!(shop.effects(key).await, 1);
    }
}

async fn shop_effects(tx: &mut PgConnection, name: &str) -> i64 {
    let counted = sqlx::query_scalar("SELECT count(*) FROM effects WHERE name = $1").bind(name);
    counted.fetch_one(tx).await.expect("it is counted")
}

#[tokio::test]
async fn point_5_the_wait_is_bounded_and_nothing_of_the_bound_is_left() {
    let Some(shop) = Shop::open().await else { return };
    let mut owner = shop.begin().await;
    assert_eq!(pay(&shop.idempotency, &mut owner, "busy", 1, PATIENCE).await, Ok(1));
    for patience in [Duration::ZERO, Duration::from_millis(300)] {
        let mut tx = shop.begin().await;
        sqlx::query("SET LOCAL lock_timeout = '7s'").execute(&mut *tx).await.unwrap();
        let started = std::time::Instant::now();
        let Err(Failed::Call(said)) = pay(&shop.idempotency, &mut tx, "busy", 2, patience).await else {
            panic!("another transaction has it")
        };
        assert_eq!((said.kind, said.is_retryable, said.hints), (ErrorKind::Busy, true, true), "{}", said.text);
        assert!(started.elapsed() >= patience && started.elapsed() < Duration::from_secs(5));
        assert_eq!(lock_timeout(&mut tx).await, "7s");
        write(&mut tx, "usable").await.unwrap();
        let seen = call(&shop.idempotency, "free", PATIENCE)
            .within(&mut tx, async |mut tx| Ok::<_, Failed>(lock_timeout(&mut tx).await));
        assert_eq!(seen.await, Ok("7s".to_owned()), "the body waits as its transaction does");
        assert_eq!(lock_timeout(&mut tx).await, "7s");
        let again = call(&shop.idempotency, "free", PATIENCE).within(&mut tx, async |_| Ok::<_, Failed>(String::new()));
        assert_eq!(again.await, Ok("7s".to_owned()));
        assert_eq!(lock_timeout(&mut tx).await, "7s", "after a duplicate too");
        tx.rollback().await.unwrap();
    }
    owner.commit().await.unwrap();
}

#[tokio::test]
async fn point_5_a_statement_that_was_cancelled_is_not_a_busy_key() {
    let Some(shop) = Shop::open().await else { return };
    let mut owner = shop.begin().await;
    assert_eq!(pay(&shop.idempotency, &mut owner, "cancelled", 1, PATIENCE).await, Ok(1));
    let mut tx = shop.begin().await;
    sqlx::query("SET LOCAL statement_timeout = '200ms'").execute(&mut *tx).await.unwrap();
    let late = pay(&shop.idempotency, &mut tx, "cancelled", 2, PATIENCE).await.unwrap_err();
    assert_eq!(late.kind(), Some(ErrorKind::StoreUnavailable), "{late:?}");
}

#[tokio::test]
async fn point_7_a_transaction_that_had_failed_already_is_reported_as_that() {
    let Some(shop) = Shop::open().await else { return };
    let mut tx = shop.begin().await;
    sqlx::query("SELECT 1 / 0").execute(&mut *tx).await.unwrap_err();
    let before = pay(&shop.idempotency, &mut tx, "broken before", 1, PATIENCE).await.unwrap_err();
    assert_eq!(before.kind(), Some(ErrorKind::TransactionFailed), "{before:?}");
    tx.rollback().await.unwrap();

    // A handler that ignores an error of its own: what it returns is not so.
    let mut tx = shop.begin().await;
    let ignored = call(&shop.idempotency, "broken inside", PATIENCE).within(&mut tx, async |mut tx| {
        write(&mut tx, "broken inside").await?;
        let _ = sqlx::query("SELECT 1 / 0").execute(&mut **tx).await;
        Ok::<u32, Failed>(1)
    });
    let ignored = ignored.await.unwrap_err();
    assert_eq!(ignored.kind(), Some(ErrorKind::TransactionFailed), "{ignored:?}");
    write(&mut tx, "usable again").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!([shop.effects("broken inside").await, shop.effects("usable again").await], [0, 1]);
}

#[tokio::test]
async fn point_10_five_connections_answer_a_hundred_duplicates() {
    let Some(shop) = Shop::with(5).await.map(Arc::new) else { return };
    let crowd: Vec<_> = (0..100).map(|_| duplicate(&shop, "crowd")).collect();
    let mut ran = 0;
    for one in crowd {
        let (result, kind) = one.await.unwrap();
        assert_eq!(result, Ok(2));
        ran += u32::from(kind == OutcomeKind::Executed);
    }
    assert_eq!((ran, shop.effects("crowd").await), (1, 1));
}

#[tokio::test]
async fn point_10_two_keys_in_opposite_order_are_a_conflict_to_one_of_the_two() {
    let Some(shop) = Shop::open().await.map(Arc::new) else { return };
    let mut first = shop.begin().await;
    let mut second = shop.begin().await;
    assert_eq!(pay(&shop.idempotency, &mut first, "a", 1, PATIENCE).await, Ok(1));
    assert_eq!(pay(&shop.idempotency, &mut second, "b", 1, PATIENCE).await, Ok(1));
    let other = Arc::clone(&shop);
    let crossing = tokio::spawn(async move {
        let result = pay(&other.idempotency, &mut first, "b", 2, PATIENCE).await;
        if result.is_ok() { first.commit().await } else { first.rollback().await }.map(|()| result)
    });
    shop.until_somebody_waits().await;
    let result = pay(&shop.idempotency, &mut second, "a", 2, PATIENCE).await;
    if result.is_ok() { second.commit().await } else { second.rollback().await }.unwrap();
    let results = [crossing.await.unwrap().unwrap(), result];
    let conflicts = results.iter().filter_map(|result| result.as_ref().err());
    let conflicts: Vec<_> = conflicts.map(Failed::kind).collect();
    assert_eq!(conflicts, [Some(ErrorKind::TransactionConflict)], "{results:?}");
}

#[tokio::test]
async fn a_claim_with_a_lease_is_waited_for_and_a_lapsed_one_is_taken_over() {
    let Some(shop) = Shop::open().await.map(Arc::new) else { return };
    let gate = Arc::new(tokio::sync::Notify::new());
    let (leased, opens) = (call(&shop.idempotency, "leased", PATIENCE), Arc::clone(&gate));
    let started = Arc::new(tokio::sync::Notify::new());
    let has_started = Arc::clone(&started);
    let run = tokio::spawn(leased.run(async move {
        has_started.notify_one();
        opens.notified().await;
        Ok::<u32, Failed>(5)
    }));
    started.notified().await;
    let mut tx = shop.begin().await;
    let busy = pay(&shop.idempotency, &mut tx, "leased", 1, Duration::ZERO).await.unwrap_err();
    assert_eq!(busy.kind(), Some(ErrorKind::Busy));
    gate.notify_one();
    assert_eq!(pay(&shop.idempotency, &mut tx, "leased", 1, PATIENCE).await, Ok(5));
    assert_eq!(run.await.unwrap(), Ok(5));

    sqlx::query("UPDATE idempotency_records SET state = 'begun', live_until = 0").execute(&mut *tx).await.unwrap();
    let (result, outcome) = with_outcome(pay(&shop.idempotency, &mut tx, "leased", 6, PATIENCE)).await;
    assert_eq!((result, outcome.kind()), (Ok(6), OutcomeKind::Executed), "nobody renews it");
    tx.commit().await.unwrap();
}

/// A transaction in the application's own clothes.
struct UnitOfWork<'p>(Transaction<'p, Postgres>);

impl idempotent_runtime::InTransaction for UnitOfWork<'_> {
    fn connection(&mut self) -> idempotent_runtime::TransactionConnection<'_> {
        idempotent_runtime::TransactionConnection::postgres(&mut self.0)
    }
}

#[tokio::test]
async fn point_1_anything_that_gives_its_connection_will_do() {
    #[idempotent(prefix = "unit", keys = [name], ttl = 1h, within = work, via = idempotency)]
    async fn unit(idempotency: &Idempotency, work: &mut UnitOfWork<'_>, name: &str) -> Result<u32, Failed> {
        write(&mut work.0, name).await?;
        Ok(3)
    }

    let Some(shop) = Shop::open().await else { return };
    for _ in 0..2 {
        let mut work = UnitOfWork(shop.begin().await);
        assert_eq!(unit(&shop.idempotency, &mut work, "unit").await, Ok(3));
        work.0.commit().await.unwrap();
    }
    assert_eq!(shop.effects("unit").await, 1);
}
