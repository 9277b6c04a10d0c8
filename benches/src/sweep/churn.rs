//! Records that come, end and expire all the time: how large the table is after a while.

use std::time::Duration;

use anyhow::Context as _;
use idempotent_runtime::store::PostgresStore;
use serde::Serialize;
use servers::Postgres;
use sqlx::{Connection as _, PgConnection};
use tokio::runtime::Runtime;

use super::records::{self, SLACK, Sweeper};
use crate::paced::{Claims, Latency};

/// How much is measured.
#[derive(Clone, Copy)]
pub(super) struct Length {
    time: Duration,
    /// How long a record is kept.
    kept: Duration,
    sweep_every: Duration,
    /// Records that the table begins with.
    rows: u64,
}

impl Length {
    pub(super) const QUICK: Self = Self {
        time: Duration::from_secs(3),
        kept: Duration::from_secs(10),
        sweep_every: Duration::from_millis(200),
        rows: 10_000,
    };

    pub(super) fn of(minutes: u32) -> Self {
        let kept = Duration::from_secs(10);
        // As many as are there at any time when this goes on for ever.
        let rows = (kept + SLACK).as_secs() * u64::from(RATE);
        Self { time: Duration::from_mins(minutes.max(1).into()), kept, sweep_every: Duration::from_secs(5), rows }
    }

    /// How often the server looks whether to vacuum. Every minute by default; in a short run it looks as often as in one
    /// of ten minutes, since the table can only be steady over several such times.
    fn naptime(&self) -> u64 {
        (self.time.as_secs() / 10).clamp(1, 60)
    }
}

/// Claims a second, each with its completion.
const RATE: u32 = 300;

/// Sizes are taken so many times.
const SAMPLES: u32 = 12;

/// What a while of coming and going does to the table.
#[derive(Debug, Serialize)]
pub(crate) struct Churn {
    pub(crate) seconds: f64,
    pub(crate) claims: Latency,
    pub(crate) samples: Vec<Sample>,
    /// The largest size in the last third, over that at the end of the first third.
    pub(crate) growth: f64,
    /// Updates that touched no index, of all.
    pub(crate) hot_share: f64,
}

/// The table at one time. Counts are from the start.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) seconds: f64,
    /// Bytes of the rows.
    pub(crate) relation: i64,
    /// With the indexes and the large results.
    pub(crate) total: i64,
    pub(crate) updated: i64,
    pub(crate) hot_updated: i64,
    pub(crate) removed: i64,
    pub(crate) vacuums: i64,
}

pub(super) fn measure(runtime: &Runtime, length: Length) -> anyhow::Result<Churn> {
    let server = Postgres::builder().durable().set(format!("autovacuum_naptime={}", length.naptime())).start()?;
    let (mut database, claims) = runtime.block_on(async {
        let mut database = PgConnection::connect(&server.url()).await?;
        // As if it had gone on for long.
        records::fill(&mut database, &server.url(), length.rows, "0", Duration::from_secs(1) / RATE).await?;
        let builder = PostgresStore::builder().sweep_every(None).max_connections(8).timeout(Duration::from_secs(30));
        anyhow::Ok((database, Claims::new(builder.connect(&server.url()).await?, length.kept)))
    })?;
    let _sweeper = Sweeper::start(&server.url(), length.sweep_every)?;
    let (claims, samples) = runtime.block_on(claims.until(RATE, samples(&mut database, length.time)))?;
    let samples = samples?;
    let last = samples.last().context("no samples")?;
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let hot_share = last.hot_updated as f64 / last.updated.max(1) as f64;
    Ok(Churn { seconds: length.time.as_secs_f64(), claims, growth: growth(&samples)?, hot_share, samples })
}

async fn samples(database: &mut PgConnection, time: Duration) -> anyhow::Result<Vec<Sample>> {
    let every = time / SAMPLES;
    let mut samples = Vec::new();
    for at in 1..=SAMPLES {
        tokio::time::sleep(every).await;
        samples.push(sample(database, (every * at).as_secs_f64()).await?);
    }
    Ok(samples)
}

async fn sample(database: &mut PgConnection, seconds: f64) -> anyhow::Result<Sample> {
    let sizes = "SELECT pg_relation_size(relid), pg_total_relation_size(relid), n_tup_upd, n_tup_hot_upd, n_tup_del, \
                 autovacuum_count FROM pg_stat_user_tables WHERE relname = 'idempotency_records'";
    let (relation, total, updated, hot_updated, removed, vacuums) = sqlx::query_as(sizes).fetch_one(database).await?;
    Ok(Sample { seconds, relation, total, updated, hot_updated, removed, vacuums })
}

/// How much larger the table ever is in the last third than it was at the end of the first.
fn growth(samples: &[Sample]) -> anyhow::Result<f64> {
    let third = samples.len() / 3;
    let early = third.checked_sub(1).and_then(|at| samples.get(at)).context("too few samples")?.total;
    let late = samples[samples.len() - third..].iter().map(|sample| sample.total).max().context("too few samples")?;
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    Ok(late as f64 / early as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_from_the_end_of_the_first_third_to_the_largest_of_the_last() {
        let sample =
            |total| Sample { seconds: 0.0, relation: 0, total, updated: 0, hot_updated: 0, removed: 0, vacuums: 0 };
        let growth = |totals: &[i64]| growth(&totals.iter().copied().map(sample).collect::<Vec<_>>());
        for (totals, expected) in [(&[1, 100, 900, 900, 110, 90][..], 1.1), (&[100, 900, 80], 0.8)] {
            let grown = growth(totals).expect("enough samples");
            assert!((grown - expected).abs() < 1e-9, "{totals:?}: {grown}");
        }
        assert!(growth(&[100, 100]).is_err());
    }
}
