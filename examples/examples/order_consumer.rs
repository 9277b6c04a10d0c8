//! A consumer of orders: RabbitMQ delivers, Redis keeps the records.
//!
//! ```text
//! cargo run --example order_consumer                  # starts both servers, and sends itself five messages
//! cargo run --example order_consumer -- --amqp amqp://guest:guest@127.0.0.1/%2f --redis redis://127.0.0.1/
//! ```
//!
//! It shows what a consumer owes its broker, whatever the broker: nothing is acknowledged before its outcome is known,
//! every [`Disposition`] is carried out (`examples/src/broker.rs` has the queues and why they are so), one line is
//! logged for each delivery, and SIGINT or SIGTERM end it without leaving a run half done.

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use clap::Parser as _;
use examples::backend::Backend;
use examples::broker::{Broker, confirmed};
use futures_util::StreamExt as _;
use idempotent_runtime::{Disposition, Error, Idempotency, Outcome, OutcomeKind, idempotent, with_outcome};
use lapin::message::Delivery;
use lapin::{Connection, ConnectionProperties};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::info;
use tracing_subscriber::EnvFilter;

/// The handler. The key is the business action, not the message: a producer that retries sends the same order under a
/// new message id. Another dish under the same key is nobody's retry, so the fingerprint tells them apart. The ttl
/// covers the longest time in which a message can still be delivered again.
#[idempotent(
    prefix = "order:consume",
    keys = [message.order_id, message.activity_id],
    fingerprint = message.dish,
    ttl = 24h,
)]
async fn consume(kitchen: &Kitchen, message: &OrderMessage) -> Result<Receipt, OrderError> {
    kitchen.prepare(message).await
}

#[derive(Serialize, Deserialize)]
struct OrderMessage {
    order_id: u64,
    activity_id: u64,
    dish: String,
}

#[derive(Serialize, Deserialize)]
struct Receipt {
    dish: String,
}

#[derive(Debug, thiserror::Error)]
enum OrderError {
    #[error("the oven is cold")]
    ColdOven,
    #[error(transparent)]
    NotRun(#[from] Error),
}

/// Unsettled deliveries at a time, and so runs at a time.
const PREFETCH: u16 = 16;

/// How long runs in flight may take to finish when the consumer is asked to stop.
const GRACE: Duration = Duration::from_secs(25);

async fn run(backend: &Backend, queue: &str, send_samples: bool) -> Result<()> {
    let idempotency = Idempotency::connect(&backend.redis).await?;
    idempotency.install()?;
    let connection = Connection::connect(&backend.amqp, ConnectionProperties::default()).await?;
    let broker = Broker::open(&connection, queue).await?;
    let mut deliveries = broker.deliveries(PREFETCH).await?;
    info!("consuming `{queue}`");
    if send_samples {
        samples(&broker).await?;
    }

    let kitchen = Arc::new(Kitchen::default());
    let mut in_flight = JoinSet::new();
    let mut stop = pin!(stop_signal());
    loop {
        tokio::select! {
            signal = &mut stop => break signal?,
            Some(handled) = in_flight.join_next() => handled??,
            delivery = deliveries.next() => {
                let delivery = delivery.context("the broker has ended the consumer")??;
                in_flight.spawn(handle(broker.clone(), Arc::clone(&kitchen), delivery));
            }
        }
    }

    // Take no more, finish what runs, settle what is recorded, and only then hang up: what was delivered and not begun
    // goes back to the queue with the channel.
    info!("stopping: {} in flight", in_flight.len());
    broker.cancel(&deliveries).await?;
    let finish = async {
        while let Some(handled) = in_flight.join_next().await {
            handled??;
        }
        anyhow::Ok(())
    };
    timeout(GRACE, finish).await.context("runs in flight did not finish in time")??;
    idempotency.shutdown(GRACE).await.map_err(|open| anyhow!("{open} calls are still open"))?;
    broker.close().await?;
    connection.close(200, "stopped".into()).await?;
    info!("stopped");
    Ok(())
}

async fn handle(broker: Broker, kitchen: Arc<Kitchen>, delivery: Delivery) -> Result<()> {
    let message: OrderMessage = match serde_json::from_slice(&delivery.data) {
        Ok(message) => message,
        Err(error) => {
            log("-", "-", "not an order", Disposition::DeadLetter, &error);
            return broker.carry_out(Disposition::DeadLetter, &delivery, &error.to_string()).await;
        }
    };
    let (result, outcome) = with_outcome(consume(&kitchen, &message)).await;
    let disposition = outcome.disposition();
    let detail = result.map_or_else(|error| error.to_string(), |receipt| receipt.dish);
    log(outcome.key().unwrap_or("-"), occasion(&outcome), outcome.as_str(), disposition, &detail);
    broker.carry_out(disposition, &delivery, &detail).await
}

/// One line for each delivery.
fn log(key: &str, occasion: &str, outcome: &str, disposition: Disposition, detail: &dyn Display) {
    let disposition = match disposition {
        Disposition::Ack => "ack".to_owned(),
        Disposition::RetryAfter(delay) => format!("retry in {} ms", delay.as_millis()),
        Disposition::DeadLetter => "dead letter".to_owned(),
    };
    info!("{key:<22} {occasion:<6} {outcome:<12} {disposition:<16} {detail}");
}

/// Whether the delivery was the first of its business action, as far as the record knows.
fn occasion(outcome: &Outcome) -> &'static str {
    match (outcome.kind(), outcome.attempt()) {
        (OutcomeKind::Executed | OutcomeKind::Failed | OutcomeKind::FailedForGood, Some(1)) => "first",
        _ => "repeat",
    }
}

#[cfg(unix)]
async fn stop_signal() -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

#[cfg(not(unix))]
async fn stop_signal() -> Result<()> {
    Ok(tokio::signal::ctrl_c().await?)
}

/// A first delivery and its duplicate, an order over which the kitchen fails at first, another dish for an order that
/// is taken, and something that is no order.
async fn samples(broker: &Broker) -> Result<()> {
    let messages = [
        ("m-1", r#"{"order_id": 1001, "activity_id": 7, "dish": "dumplings"}"#),
        ("m-2", r#"{"order_id": 1001, "activity_id": 7, "dish": "dumplings"}"#),
        ("m-3", r#"{"order_id": 1002, "activity_id": 7, "dish": "soufflé"}"#),
        ("m-4", r#"{"order_id": 1001, "activity_id": 7, "dish": "noodles"}"#),
        ("m-5", "two noodles, please"),
    ];
    for (message_id, message) in messages {
        confirmed(broker.publish(message.as_bytes(), message_id).await?).await?;
    }
    Ok(())
}

/// The business: it needs a while for a meal, and the oven is cold at first.
#[derive(Default)]
struct Kitchen {
    oven_is_hot: AtomicBool,
}

impl Kitchen {
    async fn prepare(&self, message: &OrderMessage) -> Result<Receipt, OrderError> {
        sleep(Duration::from_millis(200)).await;
        if message.dish == "soufflé" && !self.oven_is_hot.swap(true, Relaxed) {
            return Err(OrderError::ColdOven);
        }
        Ok(Receipt { dish: message.dish.clone() })
    }
}

/// Consumes orders from RabbitMQ, each once.
#[derive(clap::Parser)]
struct Options {
    /// URL of RabbitMQ; without it, one is started and five messages are sent to it
    #[arg(long)]
    amqp: Option<String>,
    /// URL of Redis; without it, one is started
    #[arg(long)]
    redis: Option<String>,
    /// Queue to consume
    #[arg(long, default_value = "orders")]
    queue: String,
}

fn main() -> Result<()> {
    let Options { amqp, redis, queue } = Options::parse();
    let filter = EnvFilter::try_from_default_env().or_else(|_| EnvFilter::try_new("warn,order_consumer=info"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(std::io::stdout().is_terminal())
        .init();

    let send_samples = amqp.is_none();
    let backend = Backend::given_or_own(redis, amqp)?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(run(&backend, &queue, send_samples))
}
