//! Metrics: orders that come several times, as Prometheus sees them.
//!
//! ```text
//! cargo run --example metrics                  # a few orders, then what a scrape would read
//! cargo run --example metrics -- --port 9464   # orders without end, for the Prometheus in examples/observability
//! ```
//!
//! The runtime records through the `metrics` facade (its feature `metrics`); which exporter listens is up to the
//! application. `examples/observability` has a configuration of Prometheus, alert rules and a dashboard for Grafana.

use std::net::Ipv4Addr;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use clap::Parser;
use idempotent_runtime::{Error, Idempotency, idempotent};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use tokio::net::TcpListener;
use tokio::time::sleep;

/// Upper bounds in seconds: from a store in the process to a handler that takes long.
const BUCKETS: [f64; 12] = [0.000_01, 0.000_1, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.1, 0.5, 2.5, 10.0];

#[derive(clap::Parser)]
struct Options {
    /// Serve /metrics on this port, and go on without end
    #[arg(long)]
    port: Option<u16>,
}

#[derive(Debug, thiserror::Error)]
enum OrderError {
    #[error("the oven is cold")]
    ColdOven,
    #[error(transparent)]
    NotRun(#[from] Error),
}

#[idempotent(prefix = "order:consume", keys = [order], ttl = 24h)]
async fn consume(order: u64, delivery: u64) -> Result<u64, OrderError> {
    sleep(Duration::from_millis(order % 7)).await;
    // Every fifth order fails at first.
    if order.is_multiple_of(5) && delivery == 0 { Err(OrderError::ColdOven) } else { Ok(order) }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse();
    // Before the handle: what was measured ahead of the exporter is lost.
    let exporter = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &BUCKETS)?
        .install_recorder()?;
    Idempotency::memory().install()?;

    let Some(port) = options.port else {
        for order in 1..=10 {
            deliver(order).await;
        }
        print!("{}", exporter.render());
        return Ok(());
    };
    let app = Router::new().route("/metrics", get(async move || exporter.render()));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("http://{}/metrics", listener.local_addr()?);
    let server = axum::serve(listener, app);
    let orders = async {
        for order in 1.. {
            tokio::spawn(deliver(order));
            sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        ended = server => ended?,
        () = orders => {}
    }
    Ok(())
}

/// Every order is delivered three times, the last two at the same moment.
async fn deliver(order: u64) {
    let first = consume(order, 0).await;
    let (second, third) = tokio::join!(consume(order, 1), consume(order, 2));
    for reply in [first, second, third] {
        if let Err(error @ OrderError::NotRun(_)) = reply {
            // To be delivered again; here nobody does.
            tracing::debug!(order, %error);
        }
    }
}
