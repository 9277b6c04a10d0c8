//! What is SQLite's own: how a transaction has to begin, and what a connection has to look at.

use std::time::Duration;

use idempotent_runtime::{ErrorKind, Idempotency, Lent};
use sqlx::{Sqlite, Transaction};

use crate::error::Failed;
use crate::lite::Shop;

async fn pay(idempotency: &Idempotency, tx: &mut Transaction<'_, Sqlite>, key: &str) -> Result<u32, Failed> {
    let call = idempotency.call("pay").key(key).ttl(Duration::from_mins(10));
    let body = async |mut tx: Lent<'_, Transaction<'_, Sqlite>>| {
        sqlx::query("INSERT INTO effects (name) VALUES ($1)").bind(key).execute(&mut **tx).await?;
        Ok(1)
    };
    call.within(tx, body).await
}

#[tokio::test]
async fn point_4_a_deferred_transaction_whose_snapshot_is_old_has_to_be_repeated() {
    let Some(shop) = Shop::open().await else { return };
    let mut deferred = shop.pool.begin().await.unwrap();
    sqlx::query("SELECT count(*) FROM effects").execute(&mut *deferred).await.unwrap();
    let mut other = shop.begin().await;
    assert_eq!(pay(&shop.idempotency, &mut other, "first").await, Ok(1));
    other.commit().await.unwrap();
    let Err(Failed::Call(said)) = pay(&shop.idempotency, &mut deferred, "first").await else {
        panic!("it cannot see the record")
    };
    assert_eq!((said.kind, said.is_retryable), (ErrorKind::TransactionConflict, true), "{}", said.text);
    deferred.rollback().await.unwrap();
    let mut tx = shop.begin().await;
    assert_eq!(pay(&shop.idempotency, &mut tx, "first").await, Ok(1));
    tx.commit().await.unwrap();
    assert_eq!(shop.effects("first").await, 1);
}

#[tokio::test]
async fn point_9_a_connection_that_does_not_look_at_foreign_keys_is_refused() {
    let Some(shop) = Shop::open().await else { return };
    let careless = shop.another_pool(false).await;
    let mut tx = careless.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let Err(Failed::Call(said)) = pay(&shop.idempotency, &mut tx, "careless").await else { panic!("it is refused") };
    assert_eq!(said.kind, ErrorKind::StoreUnavailable);
    assert!(said.text.contains("foreign_keys(true)"), "{}", said.text);
    assert_eq!(shop.effects("careless").await, 0);
}

#[tokio::test]
async fn a_connection_without_a_transaction_is_refused() {
    let Some(shop) = Shop::open().await else { return };
    let mut connection = shop.pool.acquire().await.unwrap();
    let call = shop.idempotency.call("pay").key("none").ttl(Duration::from_mins(10));
    let refused = call.within(&mut *connection, async |_| Ok::<u32, Failed>(1)).await.unwrap_err();
    assert_eq!(refused.kind(), Some(ErrorKind::Configuration), "{refused:?}");
}

#[tokio::test]
async fn point_10_five_connections_answer_a_hundred_duplicates() {
    let Some(shop) = Shop::open().await.map(std::sync::Arc::new) else { return };
    let crowd: Vec<_> = (0..100)
        .map(|_| {
            let shop = std::sync::Arc::clone(&shop);
            tokio::spawn(async move {
                let mut tx = shop.begin().await;
                let paid = pay(&shop.idempotency, &mut tx, "crowd").await;
                tx.commit().await.expect("it is committed");
                paid
            })
        })
        .collect();
    for one in crowd {
        assert_eq!(one.await.unwrap(), Ok(1));
    }
    assert_eq!(shop.effects("crowd").await, 1);
}
