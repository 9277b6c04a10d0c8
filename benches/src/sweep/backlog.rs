//! A million records that expired and were not removed: claims before, and while they are.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use idempotent_runtime::store::PostgresStore;
use serde::Serialize;
use servers::Postgres;
use sqlx::{Connection as _, PgConnection};
use tokio::runtime::Runtime;

use super::records::{self, Sweeper};
use crate::paced::{Claims, Latency};

/// How much is measured.
#[derive(Clone, Copy)]
pub(super) struct Length {
    rows: u64,
    warm_up: Duration,
    quiet: Duration,
}

impl Length {
    pub(super) const FULL: Self =
        Self { rows: 1_000_000, warm_up: Duration::from_secs(5), quiet: Duration::from_secs(20) };
    pub(super) const QUICK: Self =
        Self { rows: 10_000, warm_up: Duration::from_millis(200), quiet: Duration::from_secs(1) };
}

/// Claims a second.
const RATE: u32 = 200;

/// After so long something is wrong.
const PATIENCE: Duration = Duration::from_mins(15);

/// What a backlog does to claims.
#[derive(Debug, Serialize)]
pub(crate) struct Backlog {
    pub(crate) rows: u64,
    /// How long it took to remove them all.
    pub(crate) seconds: f64,
    pub(crate) quiet: Latency,
    pub(crate) sweeping: Latency,
    /// The p99 of a claim while they are removed, over that before.
    pub(crate) p99_ratio: f64,
}

pub(super) fn measure(runtime: &Runtime, length: Length) -> anyhow::Result<Backlog> {
    let server = Postgres::builder().durable().start()?;
    let (mut database, claims, quiet) = runtime.block_on(async {
        let mut database = PgConnection::connect(&server.url()).await?;
        records::fill(&mut database, &server.url(), length.rows, "-1 hour", Duration::from_micros(1)).await?;
        let builder = PostgresStore::builder().sweep_every(None).max_connections(8).timeout(Duration::from_secs(30));
        let claims = Claims::new(builder.connect(&server.url()).await?, Duration::from_hours(1));
        claims.during(RATE, length.warm_up).await?;
        let quiet = claims.during(RATE, length.quiet).await?;
        anyhow::Ok((database, claims, quiet))
    })?;
    let started = Instant::now();
    let _sweeper = Sweeper::start(&server.url(), Duration::from_millis(100))?;
    let (sweeping, swept) = runtime.block_on(claims.until(RATE, until_swept(&mut database)))?;
    swept?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(Backlog { rows: length.rows, seconds, quiet, sweeping, p99_ratio: sweeping.p99_ms / quiet.p99_ms })
}

/// Waits until nothing is due any more.
async fn until_swept(database: &mut PgConnection) -> anyhow::Result<()> {
    let due =
        "SELECT EXISTS (SELECT FROM idempotency_records WHERE due <= extract(epoch FROM now())::bigint * 1000000)";
    let swept = async {
        while sqlx::query_scalar::<_, bool>(due).fetch_one(&mut *database).await? {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, swept).await.context("the sweeper did not come to an end")?
}
