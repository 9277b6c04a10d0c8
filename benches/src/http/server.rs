//! The servers: one handler, with the layer and without. It takes an order and gives it back, as JSON of 1 KiB both ways.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router, middleware};
use idempotent_runtime::Idempotency;
use idempotent_runtime::http::IdempotencyLayer;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use super::by_hand;

/// Bytes of a body.
pub(super) const BODY: usize = 1024;

/// What is ordered.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Order {
    currency: String,
    lines: Vec<Line>,
    note: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    article: String,
    pieces: u32,
    amount_minor: u64,
}

impl Order {
    /// One of as many bytes as JSON as a body is to have.
    pub(super) fn of_one_body() -> anyhow::Result<Self> {
        let lines = (0..15).map(|line| Line {
            article: format!("{:08}", 10_000_019 + line * 31),
            pieces: 1 + line % 3,
            amount_minor: 1_200 + u64::from(line) * 35,
        });
        let mut order = Self { currency: "EUR".into(), lines: lines.collect(), note: String::new() };
        order.note = "x".repeat(BODY - serde_json::to_string(&order)?.len());
        Ok(order)
    }
}

async fn handler(Json(order): Json<Order>) -> (StatusCode, Json<Order>) {
    (StatusCode::CREATED, Json(order))
}

pub(super) async fn bare() -> anyhow::Result<SocketAddr> {
    serve(Router::new().route("/payments", post(handler))).await
}

/// Keeps its responses for `ttl`.
pub(super) async fn layered(ttl: Duration) -> anyhow::Result<SocketAddr> {
    let layer = IdempotencyLayer::builder(&Idempotency::memory())
        .scope(|request| Some(request.headers.get("authorization")?.to_str().ok()?.to_owned()))
        .required()
        .ttl(ttl)
        .build()?;
    serve(Router::new().route("/payments", post(handler)).layer(layer)).await
}

/// With what people write by hand in the layer's place.
pub(super) async fn by_hand(ttl: Duration) -> anyhow::Result<SocketAddr> {
    let once = middleware::from_fn_with_state((by_hand::records(), ttl), by_hand::once);
    serve(Router::new().route("/payments", post(handler)).layer(once)).await
}

async fn serve(router: Router) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}
