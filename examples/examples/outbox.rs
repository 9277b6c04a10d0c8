//! An order and the event about it, exactly once from one end to the other: a transactional outbox.
//!
//! ```text
//! cargo run --example outbox                            # starts its own PostgreSQL
//! cargo run --example outbox -- --postgres postgres://shop@127.0.0.1/shop
//! ```
//!
//! 1. `place` writes the order and a row of the outbox in one transaction: there is no order without its event, and no
//!    event without its order.
//! 2. A relay takes rows with `SKIP LOCKED`, publishes them, and then deletes exactly these. When it dies in between, they
//!    are published again: at least once.
//! 3. The consumer's `cook` makes at least once exactly once: its claim, its dish and its result are one transaction.

use anyhow::{Result, ensure};
use clap::Parser as _;
use examples::backend;
use idempotent_runtime::{Error, Idempotency, OutcomeKind, idempotent, with_outcome};
use sqlx::postgres::PgPool;
use sqlx::{Postgres, Transaction};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const ORDERS: i64 = 20;

/// Places an order, once for each cart.
#[idempotent(prefix = "order:place", keys = [cart], ttl = forever, on_busy = wait(10s), within = tx)]
async fn place(tx: &mut Transaction<'_, Postgres>, cart: i64) -> Result<i64, Failure> {
    let order = sqlx::query_scalar("INSERT INTO orders (cart) VALUES ($1) RETURNING id");
    let order: i64 = order.bind(cart).fetch_one(&mut **tx).await?;
    sqlx::query("INSERT INTO outbox (order_id) VALUES ($1)").bind(order).execute(&mut **tx).await?;
    Ok(order)
}

/// Cooks an order, however often its event comes.
#[idempotent(prefix = "order:cook", keys = [event.order], ttl = forever, on_busy = wait(10s), within = tx)]
async fn cook(tx: &mut Transaction<'_, Postgres>, event: Event) -> Result<(), Failure> {
    sqlx::query("INSERT INTO dishes (order_id) VALUES ($1)").bind(event.order).execute(&mut **tx).await?;
    Ok(())
}

/// What is published: an order has been placed.
#[derive(Clone, Copy, Debug)]
struct Event {
    order: i64,
}

/// Publishes what is in the outbox; how many events that were. Some relays die between publishing and deleting.
async fn relay(pool: &PgPool, broker: &UnboundedSender<Event>, dies: bool) -> Result<usize, Failure> {
    let mut tx = pool.begin().await?;
    // Rows that another relay is at are left to it.
    let taken = "SELECT id, order_id FROM outbox ORDER BY id LIMIT 5 FOR UPDATE SKIP LOCKED";
    let rows: Vec<(i64, i64)> = sqlx::query_as(taken).fetch_all(&mut *tx).await?;
    for &(_, order) in &rows {
        broker.send(Event { order }).map_err(|_| Failure::NoBroker)?;
    }
    if dies {
        // As the server does when it finds that a relay is gone: the rows are there still, and free.
        tx.rollback().await?;
        return Ok(rows.len());
    }
    // Exactly the published ones: what was written since has a smaller id where its transaction began earlier.
    let published: Vec<i64> = rows.iter().map(|&(id, _)| id).collect();
    sqlx::query("DELETE FROM outbox WHERE id = ANY($1)").bind(&published).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(rows.len())
}

/// Consumes until nothing more comes; how many dishes were cooked, and how many events were duplicates.
async fn consume(pool: PgPool, mut events: UnboundedReceiver<Event>) -> Result<(u32, u32), Failure> {
    let (mut cooked, mut duplicates) = (0, 0);
    while let Some(event) = events.recv().await {
        let mut tx = pool.begin().await?;
        let (done, outcome) = with_outcome(cook(&mut tx, event)).await;
        done?;
        // Only now would a broker be told that the message is dealt with.
        tx.commit().await?;
        if outcome.kind() == OutcomeKind::Executed { cooked += 1 } else { duplicates += 1 }
    }
    Ok((cooked, duplicates))
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the broker is gone")]
    NoBroker,
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Idempotency(#[from] Error),
}

#[derive(clap::Parser)]
struct Options {
    /// A PostgreSQL to use instead of one of its own.
    #[arg(long)]
    postgres: Option<String>,
}

fn main() -> Result<()> {
    let server = backend::Postgres::given_or_own(Options::parse().postgres)?;
    tokio::runtime::Runtime::new()?.block_on(run(server.url()))
}

async fn run(url: &str) -> Result<()> {
    // Carts and orders begin anew with each run, and so do the records.
    Idempotency::builder().namespace(&format!("run-{}", std::process::id())).connect(url).await?.install()?;
    let pool = PgPool::connect(url).await?;
    let tables = "DROP TABLE IF EXISTS orders, outbox, dishes; \
                  CREATE TABLE orders (id bigserial PRIMARY KEY, cart bigint NOT NULL); \
                  CREATE TABLE outbox (id bigserial PRIMARY KEY, order_id bigint NOT NULL); \
                  CREATE TABLE dishes (order_id bigint NOT NULL)";
    sqlx::raw_sql(tables).execute(&pool).await?;

    let (broker, events) = unbounded_channel();
    let consumer = tokio::spawn(consume(pool.clone(), events));

    // Each customer clicks twice.
    let clicks = (1..=ORDERS).chain(1..=ORDERS).map(|cart| {
        let pool = pool.clone();
        tokio::spawn(async move {
            let mut tx = pool.begin().await?;
            let order = place(&mut tx, cart).await?;
            tx.commit().await?;
            Ok::<_, Failure>(order)
        })
    });
    for click in clicks.collect::<Vec<_>>() {
        click.await??;
    }
    println!("{} clicks on {ORDERS} carts", 2 * ORDERS);

    let mut published = 0;
    for turn in 0.. {
        let dies = turn % 3 == 0;
        match relay(&pool, &broker, dies).await? {
            0 => break,
            events => published += events,
        }
    }
    drop(broker);
    println!("{published} events published, by relays of which every third died before it had deleted them");

    let (cooked, duplicates) = consumer.await??;
    println!("{cooked} dishes cooked, {duplicates} duplicates recognised");
    let counts: (i64, i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM outbox), \
         (SELECT count(*) FROM dishes d JOIN orders o ON o.id = d.order_id)",
    )
    .fetch_one(&pool)
    .await?;
    ensure!(counts == (ORDERS, 0, ORDERS), "orders, events left, dishes: {counts:?}");
    ensure!(duplicates > 0, "no event came twice");
    Ok(())
}
