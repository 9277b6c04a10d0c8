//! Handlers under the attribute, since that is what users write.

use std::time::Duration;

use idempotent_runtime::{Error, Idempotency, idempotent};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

/// The namespace of the runtime, in front of every key.
pub const NAMESPACE: &str = "shop";

/// The prefix of the handlers here.
pub const PREFIX: &str = "order:dispatch";

/// How long their records are kept.
pub const TTL: Duration = Duration::from_hours(24);

/// The first order. With its ten digits a key has 30 bytes, and a receipt has 40 as JSON.
pub const FIRST_ORDER: u64 = 1_000_000_001;

/// What a handler here returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The order that it is for.
    pub order: u64,
    /// What became of it.
    pub status: String,
}

impl Receipt {
    /// The receipt of an order that was accepted.
    #[must_use]
    pub fn of(order: u64) -> Self {
        Self { order, status: "accepted".to_owned() }
    }
}

/// Returns at once: what is left is the guard.
///
/// # Errors
///
/// The runtime's own.
#[idempotent(prefix = "order:dispatch", keys = [order], ttl = 24h, via = idempotency)]
pub async fn dispatch(idempotency: &Idempotency, order: u64) -> Result<Receipt, Error> {
    Ok(Receipt::of(order))
}

/// One of the four steps in which an order is dispatched, by its number.
///
/// # Errors
///
/// The runtime's own.
pub async fn dispatch_in_steps(idempotency: &Idempotency, order: u64, step: u64) -> Result<Receipt, Error> {
    match step {
        0 => packed(idempotency, order).await,
        1 => labelled(idempotency, order).await,
        2 => handed_over(idempotency, order).await,
        _ => announced(idempotency, order).await,
    }
}

#[idempotent(prefix = "order:dispatch", keys = [order], step = "packed", ttl = 24h, via = idempotency)]
async fn packed(idempotency: &Idempotency, order: u64) -> Result<Receipt, Error> {
    Ok(Receipt::of(order))
}

#[idempotent(prefix = "order:dispatch", keys = [order], step = "labelled", ttl = 24h, via = idempotency)]
async fn labelled(idempotency: &Idempotency, order: u64) -> Result<Receipt, Error> {
    Ok(Receipt::of(order))
}

#[idempotent(prefix = "order:dispatch", keys = [order], step = "handed_over", ttl = 24h, via = idempotency)]
async fn handed_over(idempotency: &Idempotency, order: u64) -> Result<Receipt, Error> {
    Ok(Receipt::of(order))
}

#[idempotent(prefix = "order:dispatch", keys = [order], step = "announced", ttl = 24h, via = idempotency)]
async fn announced(idempotency: &Idempotency, order: u64) -> Result<Receipt, Error> {
    Ok(Receipt::of(order))
}

/// As [`dispatch`], with a fingerprint in its record.
///
/// # Errors
///
/// The runtime's own.
#[idempotent(prefix = "order:dispatch", keys = [order], ttl = 24h, fingerprint = [amount], via = idempotency)]
pub async fn dispatch_for(idempotency: &Idempotency, order: u64, amount: u64) -> Result<Receipt, Error> {
    Ok(Receipt::of(order))
}

/// As [`dispatch`], with duplicates that wait for the first one, which lets others go before it returns.
///
/// # Errors
///
/// The runtime's own.
#[idempotent(prefix = "order:dispatch", keys = [order], ttl = 24h, on_busy = wait(30s), via = idempotency)]
pub async fn dispatch_after_a_while(idempotency: &Idempotency, order: u64) -> Result<Receipt, Error> {
    tokio::task::yield_now().await;
    Ok(Receipt::of(order))
}

/// As [`dispatch`], in progress until it is told to end.
///
/// # Errors
///
/// The runtime's own.
#[idempotent(prefix = "order:dispatch", keys = [order], ttl = 24h, via = idempotency)]
pub async fn dispatch_until(
    idempotency: &Idempotency,
    order: u64,
    began: &Notify,
    end: &Notify,
) -> Result<Receipt, Error> {
    began.notify_one();
    end.notified().await;
    Ok(Receipt::of(order))
}

/// A handler that holds 1 KiB while it waits.
///
/// # Errors
///
/// The runtime's own.
#[idempotent(prefix = "order:dispatch", keys = [order], ttl = 24h, via = idempotency)]
pub async fn held_annotated(idempotency: &Idempotency, order: u64) -> Result<Receipt, Error> {
    let label = [order.to_le_bytes()[0]; 1024];
    tokio::task::yield_now().await;
    std::hint::black_box(&label);
    Ok(Receipt::of(order))
}

/// The same without the attribute.
///
/// # Errors
///
/// None.
pub async fn held_plain(idempotency: &Idempotency, order: u64) -> Result<Receipt, Error> {
    let _ = idempotency;
    let label = [order.to_le_bytes()[0]; 1024];
    tokio::task::yield_now().await;
    std::hint::black_box(&label);
    Ok(Receipt::of(order))
}
