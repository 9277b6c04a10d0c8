//! Two checks, a quick one and a true one: Redis recognises duplicates, and the order's own status is the truth.
//!
//! ```text
//! cargo run --example double_check                            # starts its own Redis
//! cargo run --example double_check -- --redis redis://127.0.0.1/
//! ```
//!
//! Orders live in a SQLite file. Each delivery of an order is a consumer of its own (this program, started again), and many
//! of them are killed half way: some before they have consumed the order, some after that, before anybody was told. Half
//! way through, Redis forgets everything. In the end every order is consumed, once:
//!
//! - most duplicates never reach the database: the record in Redis answers them;
//! - where there is no record, or one of a run that stopped half way, `existing` asks the order itself, before anything
//!   runs. So a crash needs neither a person nor luck.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser as _;
use examples::backend;
use idempotent_runtime::{Error, ErrorKind, Idempotency, idempotent, with_outcome};
use redis::AsyncCommands as _;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How long a dead consumer blocks its order: short, for nobody wants to wait in an example.
const LEASE: Duration = Duration::from_millis(500);

const ORDERS: i64 = 12;
const CONSUMERS: usize = 3;

/// Consumes an order. What a run that stopped half way has done, the order's status tells.
#[idempotent(
    prefix = "order:consume",
    keys = [order],
    ttl = 1h,
    lease = LEASE,
    on_crash = hold,
    existing = orders.consumed(order),
)]
async fn consume(orders: &Orders, order: i64, fate: Fate) -> Result<String, Failure> {
    fate.strikes(Fate::KilledBefore).await;
    let dish = orders.consume(order).await?;
    fate.strikes(Fate::KilledAfter).await;
    Ok(dish)
}

/// The business: orders, each with a status, and the dishes that were made of them. Nothing but the guard keeps an order
/// from being made into two dishes.
struct Orders(SqlitePool);

impl Orders {
    async fn open(file: &Path) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
        Ok(Self(SqlitePool::connect_with(options.busy_timeout(Duration::from_secs(10))).await?))
    }

    async fn place(&self, orders: i64) -> Result<(), sqlx::Error> {
        let tables = "CREATE TABLE orders (id integer PRIMARY KEY, status text NOT NULL); \
                      CREATE TABLE dishes (id integer PRIMARY KEY, order_id integer NOT NULL)";
        sqlx::raw_sql(tables).execute(&self.0).await?;
        for order in 1..=orders {
            sqlx::query("INSERT INTO orders VALUES ($1, 'placed')").bind(order).execute(&self.0).await?;
        }
        Ok(())
    }

    /// The truth: what has become of the order, if it is consumed.
    async fn consumed(&self, order: i64) -> Result<Option<String>, Failure> {
        let status = sqlx::query_scalar("SELECT status FROM orders WHERE id = $1");
        let status: String = status.bind(order).fetch_one(&self.0).await?;
        Ok((status == "consumed").then(|| format!("dish of order {order}")))
    }

    async fn consume(&self, order: i64) -> Result<String, Failure> {
        let mut tx = self.0.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query("INSERT INTO dishes (order_id) VALUES ($1)").bind(order).execute(&mut *tx).await?;
        sqlx::query("UPDATE orders SET status = 'consumed' WHERE id = $1").bind(order).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(format!("dish of order {order}"))
    }

    /// How many orders are consumed, and how many dishes each order that has some has at the most.
    async fn counted(&self) -> Result<(i64, i64), sqlx::Error> {
        let counts = "SELECT (SELECT count(*) FROM orders WHERE status = 'consumed'), \
                      (SELECT max(dishes) FROM (SELECT count(*) AS dishes FROM dishes GROUP BY order_id))";
        sqlx::query_as(counts).fetch_one(&self.0).await
    }
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the orders cannot be reached")]
    Orders(#[from] sqlx::Error),
    #[error(transparent)]
    NotRun(#[from] Error),
}

/// What becomes of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Fate {
    Lives,
    KilledBefore,
    KilledAfter,
}

impl Fate {
    /// Of each three orders, the first delivery of one is killed before it has an effect, and of one after.
    fn of(order: i64, delivery: u32) -> Self {
        match (order % 3, delivery) {
            (0, 1) => Self::KilledBefore,
            (1, 1) => Self::KilledAfter,
            _ => Self::Lives,
        }
    }

    /// Asks to be killed, if this is the moment, and waits for it.
    async fn strikes(self, moment: Self) {
        if self == moment {
            println!("kill me");
            std::future::pending::<()>().await;
        }
    }
}

/// Consumes every order, once, with Redis as the quick check and the orders as the true one.
#[derive(clap::Parser)]
struct Options {
    /// URL of Redis; without it, one is started
    #[arg(long)]
    redis: Option<String>,
    /// The file of the orders, and what a consumer is started with
    #[arg(long, hide = true, requires_all = ["redis", "order", "namespace"])]
    orders: Option<std::path::PathBuf>,
    #[arg(long, hide = true)]
    order: Option<i64>,
    #[arg(long, hide = true)]
    namespace: Option<String>,
    #[arg(long, hide = true, default_value = "lives")]
    fate: Fate,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let Options { redis, orders, order, namespace, fate } = Options::parse();
    if let (Some(file), Some(order), Some(redis), Some(namespace)) = (orders, order, &redis, namespace) {
        return consumer(redis, &namespace, &file, order, fate).await;
    }
    let redis = backend::Redis::given_or_own(redis)?;
    let folder = tempfile::tempdir()?;
    // A Redis that is somebody's keeps records of earlier runs.
    let namespace = format!("run-{}", std::process::id());
    let shop = Shop { redis: redis.url().to_owned(), namespace, file: folder.path().join("orders.db") };
    let orders = Orders::open(&shop.file).await?;
    orders.place(ORDERS).await?;

    println!("{ORDERS} orders, each delivered twice; of each three orders, two first consumers are killed:");
    let mut deliveries = BTreeMap::new();
    shop.deliver_all(2, &mut deliveries).await?;
    shop.forget_everything().await?;
    println!("Redis has forgotten everything, and all orders are delivered once more:");
    shop.deliver_all(1, &mut deliveries).await?;

    let (consumed, dishes) = orders.counted().await?;
    ensure!(consumed == ORDERS, "{consumed} of {ORDERS} orders are consumed");
    ensure!(dishes == 1, "an order was made into {dishes} dishes");
    println!("{consumed} orders consumed, each once");
    Ok(())
}

/// What consumers are started with.
#[derive(Clone)]
struct Shop {
    redis: String,
    namespace: String,
    file: std::path::PathBuf,
}

impl Shop {
    /// Delivers every order so often, and again for as long as its consumer is killed or busy, to some consumers at a time.
    async fn deliver_all(&self, times: u32, deliveries: &mut BTreeMap<i64, u32>) -> Result<()> {
        let mut queue: VecDeque<_> = (1..=times).flat_map(|_| 1..=ORDERS).collect();
        let (mut ends, mut consumers) = (BTreeMap::new(), JoinSet::new());
        while !queue.is_empty() || !consumers.is_empty() {
            while consumers.len() < CONSUMERS
                && let Some(order) = queue.pop_front()
            {
                let delivery = deliveries.entry(order).or_insert(0);
                *delivery += 1;
                let (shop, fate) = (self.clone(), Fate::of(order, *delivery));
                consumers.spawn(async move { Ok::<_, anyhow::Error>((order, shop.deliver(order, fate).await?)) });
            }
            let Some(consumed) = consumers.join_next().await else { continue };
            let (order, end) = consumed??;
            if end == "killed" || end == "busy" {
                queue.push_back(order);
            }
            *ends.entry(end).or_insert(0_u32) += 1;
        }
        // How often one is busy depends on the time of day.
        ends.remove("busy");
        for (end, times) in ends {
            println!("  {times:>3} {end}");
        }
        Ok(())
    }

    /// One delivery, in a process of its own: what it came to.
    async fn deliver(&self, order: i64, fate: Fate) -> Result<String> {
        let fate = clap::ValueEnum::to_possible_value(&fate).context("it has a name")?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--redis", &self.redis, "--namespace", &self.namespace, "--fate", fate.get_name()])
            .args(["--order", &order.to_string(), "--orders"])
            .arg(&self.file)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut said = BufReader::new(child.stdout.take().context("its output is ours")?).lines();
        let end = said.next_line().await?.context("a consumer says what it came to")?;
        if end == "kill me" {
            child.kill().await?;
            return Ok("killed".to_owned());
        }
        ensure!(child.wait().await?.success(), "the consumer of order {order} failed");
        if end == "busy" {
            // The dead consumer's lease has not lapsed yet.
            sleep(LEASE / 5).await;
        }
        Ok(end)
    }

    /// Takes the records of this run out of Redis, which may be somebody's.
    async fn forget_everything(&self) -> Result<()> {
        let idempotency = Idempotency::builder().namespace(&self.namespace).connect(&self.redis).await?;
        let mut connection = redis::Client::open(self.redis.as_str())?.get_multiplexed_async_connection().await?;
        for order in 1..=ORDERS {
            let key = idempotency.key("order:consume", &[&order])?;
            let _: () = connection.del(key.as_str()).await?;
        }
        Ok(())
    }
}

/// What a consumer's process does.
async fn consumer(redis: &str, namespace: &str, file: &Path, order: i64, fate: Fate) -> Result<()> {
    Idempotency::builder().namespace(namespace).connect(redis).await?.install()?;
    let orders = Orders::open(file).await?;
    match with_outcome(consume(&orders, order, fate)).await {
        (Ok(_), outcome) => println!("{}", outcome.as_str()),
        (Err(Failure::NotRun(error)), _) if error.kind() == ErrorKind::Busy => println!("busy"),
        (Err(error), _) => bail!(error),
    }
    Ok(())
}
