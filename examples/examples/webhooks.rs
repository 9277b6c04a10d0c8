//! Webhooks: a payment provider reports a payment, and reports it again, under other event ids.
//!
//! ```text
//! cargo run --example webhooks
//! ```
//!
//! A provider repeats a report until it is acknowledged, and its event id says which report it was, not which payment. So
//! the handler is keyed by the order that was paid. It starts a shop on a free port and plays the provider itself.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use idempotent_runtime::{Error, Idempotency, Outcome, OutcomeKind, idempotent, with_outcome};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::time::sleep;

/// What the provider reports. Its event id is another one in every report.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PaymentSucceeded {
    event_id: String,
    order: u64,
    amount_minor: u64,
}

/// What was sent to the customer.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Shipment {
    parcel: u32,
}

/// The business: a paid order is shipped, once. Another amount for the same order is no repeated report: somebody has to
/// look.
#[idempotent(prefix = "order:paid", keys = [event.order], fingerprint = event.amount_minor, ttl = 72h)]
async fn ship(shop: &Shop, event: &PaymentSucceeded) -> Result<Shipment, ShopError> {
    shop.pack(event.order).await
}

/// The handler. The provider reads nothing but the status: 200 ends its reports, everything else brings another.
async fn webhook(State(shop): State<Arc<Shop>>, Json(event): Json<PaymentSucceeded>) -> Response {
    let (shipped, outcome) = with_outcome(ship(&shop, &event)).await;
    log(&event, &outcome);
    shipped.map(Json).into_response()
}

#[derive(Debug, thiserror::Error)]
enum ShopError {
    #[error("out of parcels")]
    OutOfParcels,
    #[error(transparent)]
    NotRun(#[from] Error),
}

impl IntoResponse for ShopError {
    fn into_response(self) -> Response {
        match self {
            Self::OutOfParcels => (StatusCode::SERVICE_UNAVAILABLE, self.to_string()).into_response(),
            // 409 with `Retry-After` while the first report is being handled, 422 for another amount.
            Self::NotRun(error) => error.into_response(),
        }
    }
}

fn log(event: &PaymentSucceeded, outcome: &Outcome) {
    let first = if outcome.kind() == OutcomeKind::Executed { "shipped" } else { "nothing is shipped" };
    let key = outcome.key().unwrap_or("-");
    println!("  {:<8}{key:<18}{:<10}{first}", event.event_id, outcome.as_str());
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Idempotency::memory().install()?;
    let shop = Arc::new(Shop::default());
    let app = Router::new().route("/webhooks", post(webhook)).with_state(Arc::clone(&shop));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let provider =
        Provider { url: format!("http://{}/webhooks", listener.local_addr()?), client: reqwest::Client::new() };
    tokio::spawn(async move { axum::serve(listener, app).await });

    println!("  event   key               outcome   what the shop does");
    let mut answers = vec![provider.report("evt_1", 1001, 1200).await?];
    answers.push(provider.report("evt_1", 1001, 1200).await?); // the same report again
    answers.push(provider.report("evt_2", 1001, 1200).await?); // another report of the same payment
    answers.push(provider.report("evt_3", 1001, 9900).await?); // something is wrong
    answers.push(provider.report("evt_4", 1002, 500).await?); // the shop is out of parcels,
    answers.push(provider.report("evt_5", 1002, 500).await?); // and then it is not

    println!("\nSix reports, answered {answers:?}; {} parcels.", shop.parcels.load(Relaxed));
    Ok(())
}

/// The payment provider.
struct Provider {
    url: String,
    client: reqwest::Client,
}

impl Provider {
    async fn report(&self, event_id: &str, order: u64, amount_minor: u64) -> Result<u16, reqwest::Error> {
        let event = PaymentSucceeded { event_id: event_id.to_owned(), order, amount_minor };
        Ok(self.client.post(&self.url).json(&event).send().await?.status().as_u16())
    }
}

/// The shop: it needs a while to pack, and its first attempt for order 1002 fails.
#[derive(Debug, Default)]
struct Shop {
    parcels: AtomicU32,
    attempts: AtomicU32,
}

impl Shop {
    async fn pack(&self, order: u64) -> Result<Shipment, ShopError> {
        sleep(Duration::from_millis(10)).await;
        if order == 1002 && self.attempts.fetch_add(1, Relaxed) == 0 {
            return Err(ShopError::OutOfParcels);
        }
        Ok(Shipment { parcel: self.parcels.fetch_add(1, Relaxed) + 1 })
    }
}
