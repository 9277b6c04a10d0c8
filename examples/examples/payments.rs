//! Payments that are made exactly once: the claim, the payment and its answer are one transaction of PostgreSQL.
//!
//! ```text
//! cargo run --example payments                            # starts its own PostgreSQL
//! cargo run --example payments -- --postgres postgres://shop@127.0.0.1/shop
//! ```
//!
//! Two instances of a service share a database. Clients send a payment again whenever they have no answer, to whichever
//! instance; a client that uses its key for another payment is refused.

use anyhow::{Result, ensure};
use clap::Parser as _;
use examples::backend;
use idempotent_runtime::{Error, ErrorKind, Idempotency, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgPool;
use sqlx::{Postgres, Transaction};

/// What a client asks for, under a key of its own.
#[derive(Clone, Debug, Serialize)]
struct Request {
    account: String,
    cents: i64,
}

/// What it is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Payment {
    id: i64,
    cents: i64,
}

/// Makes a payment. Not a word about duplicates: it runs once for a tenant, an operation and a key, and a duplicate that
/// comes meanwhile waits for the other transaction.
#[idempotent(
    prefix = "payment",
    keys = [tenant, operation, key],
    fingerprint = request,
    ttl = forever,
    on_busy = wait(10s),
    within = tx,
    via = idempotency,
)]
async fn make(
    idempotency: &Idempotency,
    tx: &mut Transaction<'_, Postgres>,
    tenant: u64,
    operation: &str,
    key: &str,
    request: &Request,
) -> Result<Payment, PaymentError> {
    let taken = sqlx::query("UPDATE accounts SET cents = cents - $2 WHERE name = $1 AND cents >= $2");
    if taken.bind(&request.account).bind(request.cents).execute(&mut **tx).await?.rows_affected() == 0 {
        return Err(PaymentError::NoMoney);
    }
    let id = sqlx::query_scalar("INSERT INTO payments (tenant, operation, cents) VALUES ($1, $2, $3) RETURNING id")
        .bind(tenant.cast_signed())
        .bind(operation)
        .bind(request.cents)
        .fetch_one(&mut **tx)
        .await?;
    Ok(Payment { id, cents: request.cents })
}

/// One instance of the service.
struct Instance {
    name: &'static str,
    pool: PgPool,
    idempotency: Idempotency,
}

impl Instance {
    async fn start(name: &'static str, url: &str) -> Result<Self> {
        let idempotency = Idempotency::builder().owner(name).connect(url).await?;
        Ok(Self { name, pool: PgPool::connect(url).await?, idempotency })
    }

    /// Serves one request: nobody is answered before the commit has succeeded.
    async fn serve(&self, key: &str, request: &Request) -> Result<Payment, PaymentError> {
        let mut tx = self.pool.begin().await?;
        let made = make(&self.idempotency, &mut tx, 7, "transfer", key, request).await;
        // An error has undone what it wrote: there is nothing to commit, nor to roll back.
        tx.commit().await?;
        made
    }
}

#[derive(Debug, thiserror::Error)]
enum PaymentError {
    #[error("there is not enough money")]
    NoMoney,
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
    let (first, second) = (Instance::start("first", url).await?, Instance::start("second", url).await?);
    let tables = "DROP TABLE IF EXISTS accounts, payments; \
                  CREATE TABLE accounts (name text PRIMARY KEY, cents bigint NOT NULL); \
                  CREATE TABLE payments (id bigserial PRIMARY KEY, tenant bigint, operation text, cents bigint); \
                  INSERT INTO accounts VALUES ('ada', 10000), ('bob', 100)";
    sqlx::raw_sql(tables).execute(&first.pool).await?;
    // A key of this run, so that the example can be run again on a database that has seen it.
    let key = |name: &str| format!("{name}-{}", std::process::id());
    let request = Request { account: "ada".to_owned(), cents: 2500 };

    let at_once = key("at-once");
    let (one, other) = tokio::try_join!(first.serve(&at_once, &request), second.serve(&at_once, &request))?;
    println!("the same request to both instances at once    payment {} and payment {}", one.id, other.id);
    ensure!(one == other, "two answers: {one:?}, {other:?}");

    let dearer = Request { cents: 9900, ..request.clone() };
    match second.serve(&at_once, &dearer).await {
        Err(PaymentError::Idempotency(error)) if error.kind() == ErrorKind::Mismatch => {
            println!("the same key with another amount              refused: {error}");
        }
        other => anyhow::bail!("the same key with another amount gave {other:?}"),
    }

    // The commit succeeds, and the answer never arrives: the client knows nothing, and asks the other instance.
    let lost = key("lost");
    let unheard = first.serve(&lost, &request).await?;
    let retried = second.serve(&lost, &request).await?;
    println!("an answer lost after the commit, and a retry  payment {} again, by {}", retried.id, second.name);
    ensure!(unheard == retried, "two answers: {unheard:?}, {retried:?}");

    let poor = Request { account: "bob".to_owned(), cents: 2500 };
    let declined = key("declined");
    let refused = first.serve(&declined, &poor).await;
    ensure!(matches!(refused, Err(PaymentError::NoMoney)), "there was not enough money: {refused:?}");
    sqlx::query("UPDATE accounts SET cents = 5000 WHERE name = 'bob'").execute(&first.pool).await?;
    let paid = first.serve(&declined, &poor).await?;
    println!("declined, and sent again with money           payment {}", paid.id);

    let (payments, left): (i64, i64) =
        sqlx::query_as("SELECT (SELECT count(*) FROM payments), (SELECT cents FROM accounts WHERE name = 'ada')")
            .fetch_one(&first.pool)
            .await?;
    println!("{payments} payments, {left} cents left");
    ensure!((payments, left) == (3, 5000), "each payment once");
    Ok(())
}
