//! Quickstart: an order is delivered three times and cooked once.
//!
//! ```text
//! cargo run --example quickstart
//! ```
//!
//! It needs nothing but Rust: the records live in this process. `Idempotency::connect("redis://127.0.0.1/").await?` in
//! place of `Idempotency::memory()` puts them where every instance of a service finds them; nothing else changes.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use idempotent_runtime::{Disposition, Error, Idempotency, idempotent, with_outcome};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

/// The handler: business code, and no check in sight.
#[idempotent(prefix = "order:consume", keys = [message.order_id, message.activity_id], ttl = 24h)]
async fn consume(kitchen: &Kitchen, message: &OrderMessage) -> Result<Receipt, OrderError> {
    kitchen.prepare(message).await
}

struct OrderMessage {
    order_id: u64,
    activity_id: u64,
    dish: &'static str,
}

/// What a first delivery returns, and every duplicate gets again: so it must be possible to record it.
#[derive(Serialize, Deserialize)]
struct Receipt {
    meal: u32,
    dish: String,
}

/// `#[from] Error` is how a handler's caller hears that the handler was not run.
#[derive(Debug, thiserror::Error)]
enum OrderError {
    #[error("the oven is cold")]
    ColdOven,
    #[error(transparent)]
    NotRun(#[from] Error),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let idempotency = Idempotency::memory();
    idempotency.install()?;
    let kitchen = Kitchen::default();

    heading("An order is delivered three times, twice at the same moment:");
    let dumplings = OrderMessage { order_id: 1001, activity_id: 7, dish: "dumplings" };
    let (first, second) = tokio::join!(deliver(&kitchen, &dumplings), deliver(&kitchen, &dumplings));
    show("first", &first);
    show("second", &second);
    show("third", &deliver(&kitchen, &dumplings).await);
    show("second, again", &redeliver(second, &kitchen, &dumplings).await);

    heading("\nThe kitchen fails over another order, and the broker delivers it again:");
    let souffle = OrderMessage { order_id: 1002, activity_id: 7, dish: "soufflé" };
    let first = deliver(&kitchen, &souffle).await;
    show("first", &first);
    show("first, again", &redeliver(first, &kitchen, &souffle).await);

    println!("\nSix deliveries, {} meals. The records:\n", kitchen.meals.load(Relaxed));
    for order_id in [1001, 1002] {
        let key = idempotency.key("order:consume", &[&order_id, &7])?;
        let record = idempotency.inspect(&key).await?;
        println!("  {key}  {}", record.as_ref().map_or("none".to_owned(), examples::describe));
    }
    Ok(())
}

/// What one delivery came to.
struct Delivered {
    outcome: &'static str,
    attempt: Option<u32>,
    reply: String,
    disposition: Disposition,
}

async fn deliver(kitchen: &Kitchen, message: &OrderMessage) -> Delivered {
    let (result, outcome) = with_outcome(consume(kitchen, message)).await;
    let reply = match result {
        Ok(Receipt { meal, dish }) => format!("meal {meal}: {dish}"),
        Err(OrderError::NotRun(error)) => format!("error: {:?}", error.kind()),
        Err(error) => format!("error: {error}"),
    };
    Delivered { outcome: outcome.as_str(), attempt: outcome.attempt(), reply, disposition: outcome.disposition() }
}

/// Delivers a message again when the first delivery's disposition says so, as a broker would.
async fn redeliver(first: Delivered, kitchen: &Kitchen, message: &OrderMessage) -> Delivered {
    if let Disposition::RetryAfter(delay) = first.disposition {
        sleep(delay).await;
    }
    deliver(kitchen, message).await
}

fn heading(title: &str) {
    println!("{title}\n");
    println!("  {:<15}{:<10}{:<9}{:<25}disposition", "delivery", "outcome", "attempt", "the caller gets");
}

fn show(delivery: &str, delivered: &Delivered) {
    let Delivered { outcome, attempt, reply, disposition } = delivered;
    let attempt = attempt.map_or("-".to_owned(), |attempt| attempt.to_string());
    let disposition = match disposition {
        Disposition::Ack => "Ack",
        Disposition::RetryAfter(_) => "RetryAfter",
        Disposition::DeadLetter => "DeadLetter",
    };
    println!("  {delivery:<15}{outcome:<10}{attempt:<9}{reply:<25}{disposition}");
}

/// The business: it needs a while for a meal, and the oven is cold at first.
#[derive(Default)]
struct Kitchen {
    meals: AtomicU32,
    oven_is_hot: AtomicBool,
}

impl Kitchen {
    async fn prepare(&self, message: &OrderMessage) -> Result<Receipt, OrderError> {
        sleep(Duration::from_millis(100)).await;
        if message.dish == "soufflé" && !self.oven_is_hot.swap(true, Relaxed) {
            return Err(OrderError::ColdOven);
        }
        let meal = self.meals.fetch_add(1, Relaxed) + 1;
        Ok(Receipt { meal, dish: message.dish.to_owned() })
    }
}
