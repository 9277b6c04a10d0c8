//! The servers: one handler, with the layer and without.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use idempotent_runtime::Idempotency;
use idempotent_runtime::http::IdempotencyLayer;
use tokio::net::TcpListener;

/// Gives the body back, as a handler does that has nothing to do.
async fn handler(body: Bytes) -> (StatusCode, Bytes) {
    (StatusCode::CREATED, body)
}

pub(super) async fn bare() -> anyhow::Result<SocketAddr> {
    serve(Router::new().route("/payments", post(handler))).await
}

pub(super) async fn layered() -> anyhow::Result<SocketAddr> {
    let layer = IdempotencyLayer::builder(&Idempotency::memory())
        .scope(|request| Some(request.headers.get("authorization")?.to_str().ok()?.to_owned()))
        .required()
        .ttl(Duration::from_mins(1))
        .build()?;
    serve(Router::new().route("/payments", post(handler)).layer(layer)).await
}

async fn serve(router: Router) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}
