//! The payment record of an order, initialised once, step by step: a client times out and retries, and the token first
//! written is the token that every retry gets.
//!
//! ```text
//! cargo run --example order_init                            # starts its own Redis
//! cargo run --example order_init -- --redis redis://127.0.0.1/
//! ```
//!
//! Each step is a handler of its own. Who comes again is told what the first one recorded, and goes on where that one
//! stopped. In Redis the order is one Hash, one field a step.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser as _;
use examples::backend;
use idempotent_runtime::{Error, Idempotency, current, idempotent};
use tokio::time::{sleep, timeout};

/// The first step: a token that the client pays with. A second one would be a second payment.
#[idempotent(prefix = "order:init", keys = [order.day, order.number], step = "init_token", ttl = 24h, on_busy = wait(5s))]
async fn init_token(gateway: &Gateway, order: Order) -> Result<String, Failure> {
    gateway.new_token().await
}

/// The second step, which knows what the first one recorded.
#[idempotent(prefix = "order:init", keys = [order.day, order.number], step = "payment_status", ttl = 24h, on_busy = wait(5s))]
async fn payment_status(gateway: &Gateway, order: Order) -> Result<String, Failure> {
    let steps = current().ok_or(Failure::Unguarded)?;
    let token = steps.step::<String>("init_token").await?.ok_or(Failure::NoToken)?;
    gateway.open(&token).await
}

/// What the service does for each request: both steps, new or not.
async fn initialise(gateway: Arc<Gateway>, order: Order) -> Result<(String, String), Failure> {
    let token = init_token(&gateway, order).await?;
    let status = payment_status(&gateway, order).await?;
    Ok((token, status))
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the gateway is closed for a moment")]
    Closed,
    #[error("there is no token yet")]
    NoToken,
    #[error("the call is not guarded")]
    Unguarded,
    #[error(transparent)]
    NotRun(#[from] Error),
}

/// The payment gateway: slow, and closed when it is first asked to open a payment.
#[derive(Default)]
struct Gateway {
    tokens: AtomicU32,
    opened: AtomicU32,
}

impl Gateway {
    async fn new_token(&self) -> Result<String, Failure> {
        sleep(Duration::from_millis(300)).await;
        Ok(format!("tok-{}", self.tokens.fetch_add(1, Relaxed) + 1))
    }

    async fn open(&self, token: &str) -> Result<String, Failure> {
        if self.opened.fetch_add(1, Relaxed) == 0 {
            return Err(Failure::Closed);
        }
        Ok(format!("open with {token}"))
    }
}

#[derive(clap::Parser)]
#[command(about = "Initialises the payment record of an order, once, step by step.")]
struct Options {
    /// URL of Redis; without it, one is started
    #[arg(long)]
    redis: Option<String>,
}

#[derive(Clone, Copy)]
struct Order {
    day: u32,
    number: u32,
}

const ORDER: Order = Order { day: 20_260_827, number: 1001 };

/// Where it stands in Redis: under the prefix and the keys.
const KEY: &str = "order:init:20260827:1001";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let redis = backend::Redis::given_or_own(Options::parse().redis)?;
    let mut view = redis::Client::open(redis.url())?.get_multiplexed_async_connection().await?;
    redis::cmd("DEL").arg(KEY).exec_async(&mut view).await?;
    Idempotency::builder().owner("checkout-1").connect(redis.url()).await?.install()?;
    let gateway = Arc::new(Gateway::default());

    println!("A client asks for the payment of an order, and gives up after 100 ms. The service works on:\n");
    let request = tokio::spawn(initialise(Arc::clone(&gateway), ORDER));
    let first = timeout(Duration::from_millis(100), request).await;
    println!("  request 1: {}", if first.is_err() { "no answer in time" } else { "answered" });
    show(&mut view).await?;

    println!("\nIt retries while the first request is still running, then again and again:\n");
    for request in 2..=4 {
        match initialise(Arc::clone(&gateway), ORDER).await {
            Ok((token, status)) => println!("  request {request}: token {token}, {status}"),
            Err(failure) => println!("  request {request}: {failure}"),
        }
    }
    show(&mut view).await?;
    println!("\nTokens that the gateway made: {}", gateway.tokens.load(Relaxed));
    Ok(())
}

/// The order as `redis-cli` shows it.
async fn show(connection: &mut redis::aio::MultiplexedConnection) -> Result<()> {
    let fields: Vec<String> =
        redis::cmd("HGETALL").arg(KEY).query_async(connection).await.context("the order cannot be read")?;
    println!("\n  $ redis-cli HGETALL {KEY}");
    for (line, text) in (1..).zip(fields) {
        println!("  {line}) {text:?}");
    }
    Ok(())
}
