//! Annotated functions of every kind, as a user writes them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::{Error, Idempotency, KeyPart, OnError, idempotent};
use serde::{Deserialize, Serialize};

/// What is ordered.
#[derive(Clone, Debug)]
pub struct Order {
    /// Which order.
    pub id: OrderId,
    /// Where it comes from.
    pub channel: Channel,
    /// What it costs, in cents.
    pub amount: u64,
}

/// The number of an order.
#[derive(Clone, Copy, Debug, KeyPart)]
pub struct OrderId(u64);

/// Where an order comes from.
#[derive(Clone, Copy, Debug, KeyPart)]
pub enum Channel {
    /// From the web.
    Web,
    /// From a shop.
    #[key(rename = "Branch")]
    Shop,
}

/// An order in a place.
#[derive(Clone, Debug, KeyPart)]
pub struct Place<'a, T> {
    order: T,
    name: &'a str,
    #[key(skip)]
    note: Option<f64>,
}

/// What an order comes to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Receipt {
    number: u64,
}

/// Why an order fails.
#[derive(Debug)]
pub enum OrderError {
    /// There is none left.
    OutOfStock,
    /// It was not run.
    NotRun(Error),
}

impl From<Error> for OrderError {
    fn from(error: Error) -> Self {
        Self::NotRun(error)
    }
}

impl OrderError {
    fn judge(&self) -> OnError {
        match self {
            Self::OutOfStock => OnError::Reject("out of stock".to_owned()),
            Self::NotRun(_) => OnError::Release,
        }
    }
}

async fn prepare(number: u64) -> Result<Receipt, OrderError> {
    std::future::ready(()).await;
    if number == 0 { Err(OrderError::OutOfStock) } else { Ok(Receipt { number }) }
}

/// A free function.
///
/// # Errors
///
/// If there is none left.
#[idempotent(prefix = "free", keys = [order.id, order.channel], ttl = 24h)]
pub async fn free(order: Order) -> Result<Receipt, OrderError> {
    prepare(order.id.0).await
}

/// Every option.
///
/// # Errors
///
/// If there is none left.
#[idempotent(
    prefix = "options",
    keys = [&order.id, order.amount.to_string()],
    ttl = window,
    lease = 1500ms,
    timeout = 1h30m,
    fingerprint = [order.amount],
    on_duplicate = skip,
    on_busy = wait(5s),
    on_error = OrderError::judge,
    on_crash = hold,
    on_outage = run,
    on_lost = finish,
    max_attempts = 5,
    existing = find(order),
    verify = has(order),
    fenced,
    hidden,
    via = idempotency,
    map_err = OrderError::NotRun,
    crate = idempotent_runtime,
)]
pub async fn options(idempotency: &Idempotency, window: Duration, order: &Order) -> Result<Receipt, OrderError> {
    let receipt = prepare(order.id.0).await?;
    if receipt.number > 1 {
        return Ok(Receipt::default());
    }
    Ok(receipt)
}

async fn find(order: &Order) -> Result<Option<Receipt>, OrderError> {
    prepare(order.amount).await.map(Some)
}

async fn has(order: &Order) -> Result<bool, OrderError> {
    prepare(order.amount).await.map(|receipt| receipt.number > 0)
}

/// A kitchen.
#[derive(Debug)]
pub struct Kitchen {
    tenant: u64,
    prepared: u64,
}

impl Kitchen {
    /// A method.
    ///
    /// # Errors
    ///
    /// If there is none left.
    #[idempotent(prefix = "method", keys = [self.tenant, id], ttl = forever)]
    pub async fn method(&self, id: u64) -> Result<Receipt, OrderError> {
        prepare(self.tenant + id).await
    }

    /// A method that changes.
    ///
    /// # Errors
    ///
    /// If there is none left.
    #[idempotent(prefix = "changes", keys = [self.tenant], ttl = 1h, on_duplicate = reject)]
    pub async fn changes(&mut self) -> Result<Receipt, OrderError> {
        self.prepared += 1;
        prepare(self.prepared).await
    }

    /// A method of what is shared.
    ///
    /// # Errors
    ///
    /// If there is none left.
    #[idempotent(prefix = "shared", keys = [self.tenant], ttl = 1h)]
    pub async fn shared(self: Arc<Self>) -> Result<(), OrderError> {
        prepare(self.tenant).await.map(|_| ())
    }
}

/// What prepares.
#[async_trait::async_trait]
pub trait Prepare {
    /// Prepares.
    ///
    /// # Errors
    ///
    /// If there is none left.
    async fn prepare(&self, id: u64) -> Result<u64, OrderError>;
}

#[async_trait::async_trait]
impl Prepare for Kitchen {
    #[idempotent(prefix = "trait", keys = [self.tenant, id], ttl = 1h)]
    async fn prepare(&self, id: u64) -> Result<u64, OrderError> {
        prepare(id).await.map(|receipt| receipt.number)
    }
}

/// A future.
///
/// # Errors
///
/// If there is none left.
#[allow(clippy::manual_async_fn)] // as clippy says of the plain function
#[idempotent(prefix = "future", keys = [place], ttl = 1h)]
pub fn future<T: KeyPart + Send + Sync>(
    place: &Place<'_, T>,
) -> impl Future<Output = Result<String, OrderError>> + Send {
    async move {
        prepare(1).await?;
        let note = place.note.map_or_else(String::new, |note| note.to_string());
        Ok(place.name.to_owned() + &note)
    }
}

/// A boxed future.
///
/// # Errors
///
/// If there is none left.
#[must_use]
#[idempotent(prefix = "boxed", keys = [id], ttl = 1h, on_error = release)]
pub fn boxed(id: u64) -> Pin<Box<dyn Future<Output = Result<u64, OrderError>> + Send>> {
    Box::pin(async move { prepare(id).await.map(|receipt| receipt.number) })
}

/// Patterns and generics.
///
/// # Errors
///
/// If there is none left.
#[idempotent(prefix = "patterns", keys = [id, first], ttl = 1h)]
pub async fn patterns<T>(Order { id, .. }: Order, (first, second): (u64, T)) -> Result<T, OrderError>
where
    T: Serialize + serde::de::DeserializeOwned + Send,
{
    prepare(first + id.0).await?;
    Ok(second)
}

// Without the feature `registry`, whatever is registered becomes nothing: this would be no Rust.
idempotent_runtime::__private::register! { "no" handler, at all; }

/// The control: the last statement says nothing.
///
/// # Errors
///
/// If there is none left.
#[idempotent(prefix = "control", keys = [id], ttl = 1h)]
pub async fn control(id: u64) -> Result<u64, OrderError> {
    let mut sum = 0;
    for number in 0..id {
        sum += prepare(number + 1).await?.number;
        continue;
    }
    Ok(sum)
}
