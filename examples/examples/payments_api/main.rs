//! A payments API: every `POST` needs an `Idempotency-Key`, and a retry gets the first one's response.
//!
//! ```text
//! cargo run --example payments_api -- --port 3000
//! cargo run --example payments_api -- --port 3000 --store postgres://localhost/shop
//! ```
//!
//! Without `--store` the records are in an SQLite file, which is removed at the end.
//!
//! | request | answer |
//! |---|---|
//! | `POST /payments` with `{"amount_minor": 1200, "currency": "EUR"}` | 201, the payment |
//! | `POST /payments/{id}/refunds` with `{"amount_minor": 200}` | 201, the refund |
//! | `GET /idempotency` | the rules for keys, as data |
//!
//! `Authorization: Bearer NAME` says who the customer is, and keys belong to a customer. The handlers know nothing of
//! keys; only the bank is given one that is derived from the request's, so that a payment that is tried again after a
//! crash is not charged twice.

mod bank;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, LOCATION};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use clap::Parser;
use idempotent_runtime::http::{FingerprintBy, IdempotencyLayer, Keep};
use idempotent_runtime::{Idempotency, Outcome, current};
use serde::Deserialize;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tracing::info;

use self::bank::{Bank, Refused};

/// A payments API whose requests can be sent again.
#[derive(Debug, Parser)]
struct Options {
    /// The port to listen on; a free one by default.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Where the records are kept: `sqlite:records.db`, `postgres://host/database` or `redis://host/`; by default in an
    /// SQLite file in a temporary folder.
    #[arg(long)]
    store: Option<String>,
    /// How long the bank needs for a payment.
    #[arg(long, default_value = "2s", value_parser = examples::duration::parse)]
    bank: Duration,
}

/// How long runs in flight may take to finish when the server is asked to stop.
const GRACE: Duration = Duration::from_secs(25);

#[tokio::main]
async fn main() -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let options = Options::parse();
    let folder = TempDir::with_prefix("payments-api-")?;
    let file = || format!("sqlite:{}", folder.path().join("records.db").display());
    let idempotency = Idempotency::connect(&options.store.unwrap_or_else(file)).await?;
    let layer = layer(&idempotency)?;
    let app = app(Arc::new(Bank::new(options.bank)), &layer);

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app).with_graceful_shutdown(stop_signal()).await?;
    // A run whose client has gone is still a run.
    idempotency.shutdown(GRACE).await.map_err(|open| anyhow!("{open} requests are still open"))
}

/// The rules for keys. Whoever changes one tells the clients: they are published under `/idempotency`.
fn layer(idempotency: &Idempotency) -> Result<IdempotencyLayer> {
    let builder = IdempotencyLayer::builder(idempotency)
        .scope(|request| Some(request.extensions.get::<Customer>()?.0.clone()))
        .required()
        .ttl(Duration::from_hours(24))
        // A client that writes its JSON anew for a retry may order its members otherwise.
        .fingerprint(FingerprintBy::json())
        .documentation("/idempotency");
    builder.build().context("the rules for keys cannot be used")
}

/// Who comes first stands last: the log sees everything, authentication comes before the key, and the key before the
/// handler.
fn app(bank: Arc<Bank>, layer: &IdempotencyLayer) -> Router {
    let policy = layer.policy();
    Router::new()
        .route("/payments", post(pay))
        .route("/payments/{id}/refunds", post(refund))
        .route_layer(layer.clone())
        .route_layer(middleware::from_fn(authenticate))
        .route_layer(middleware::from_fn(log))
        .route("/idempotency", get(move || async move { Json(policy) }))
        .with_state(bank)
}

#[derive(Debug, Deserialize)]
struct NewPayment {
    amount_minor: u64,
    currency: String,
}

#[derive(Debug, Deserialize)]
struct NewRefund {
    amount_minor: u64,
}

async fn pay(
    State(bank): State<Arc<Bank>>,
    Extension(Customer(customer)): Extension<Customer>,
    Json(payment): Json<NewPayment>,
) -> Result<Response, Refusal> {
    let payment = bank.pay(bank_key("charge"), customer, payment.amount_minor, payment.currency).await?;
    let location = format!("/payments/{}", payment.id);
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(payment)).into_response())
}

async fn refund(
    State(bank): State<Arc<Bank>>,
    Extension(Customer(customer)): Extension<Customer>,
    Path(payment): Path<String>,
    Json(refund): Json<NewRefund>,
) -> Result<Response, Refusal> {
    let refund = bank.refund(bank_key("refund"), &customer, &payment, refund.amount_minor).await?;
    Ok((StatusCode::CREATED, Json(refund)).into_response())
}

/// The key for the bank: the same in every attempt of this request, and different for every other. None where there is no
/// claim (a handle that is disabled, `on_outage = run`): a made-up one that two requests share would pay for one of them.
fn bank_key(name: &str) -> Option<String> {
    Some(current()?.derive(name))
}

/// What the bank would not do, as a response. A refusal that may be another tomorrow is not stored.
struct Refusal(Refused);

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        Self(refused)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, keep) = match self.0 {
            Refused::NoAmount | Refused::TooMuch => (StatusCode::BAD_REQUEST, Keep::by_status()),
            Refused::NoSuchPayment => (StatusCode::NOT_FOUND, Keep::never()),
        };
        (status, Extension(keep), Json(serde_json::json!({ "error": self.0.to_string() }))).into_response()
    }
}

/// Who sends the request.
#[derive(Clone, Debug)]
struct Customer(String);

/// Stands for real authentication.
async fn authenticate(mut request: Request, next: Next) -> Result<Response, StatusCode> {
    let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let name = header.and_then(|value| value.strip_prefix("Bearer ")).filter(|name| !name.is_empty());
    let customer = Customer(name.ok_or(StatusCode::UNAUTHORIZED)?.to_owned());
    request.extensions_mut().insert(customer);
    Ok(next.run(request).await)
}

/// One line a request: what it came to, and under which key. The record's key shows nothing of the client's.
async fn log(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = next.run(request).await;
    let outcome = response.extensions().get::<Outcome>();
    let (what, key) = (outcome.map_or("-", Outcome::as_str), outcome.and_then(Outcome::key).unwrap_or("-"));
    info!("{method} {path} {} {what} {key}", response.status().as_u16());
    response
}

#[cfg(unix)]
async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        }
        Err(_) => drop(tokio::signal::ctrl_c().await),
    }
}

#[cfg(not(unix))]
async fn stop_signal() {
    drop(tokio::signal::ctrl_c().await);
}
