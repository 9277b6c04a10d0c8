//! Duplicates that are answered without a round trip.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::ensure;
use benches::{FIRST_ORDER, NAMESPACE, dispatch, dispatch_after_a_while};
use idempotent_runtime::{Builder, Cache, Idempotency};
use servers::Redis;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::start;
use crate::figures::Figures;
use crate::spread::Spread;

const ROUNDS: usize = 5;

/// Duplicates are of so many orders.
const REPEATED: u64 = 1_000;

/// Calls of one order that are in flight together.
const TOGETHER: usize = 1_000;

/// Measures a cached duplicate, and calls in flight that are collapsed against those that each ask.
pub(crate) fn repeats(figures: &mut Figures, quick: bool) -> anyhow::Result<()> {
    let (redis, bed) = start()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let nanoseconds = cached(&runtime, &redis, if quick { 10_000 } else { 500_000 })?;
    figures.cached_duplicate_ns = Some(nanoseconds.median);
    figures.spreads.cached_duplicate_ns = Some([nanoseconds.least, nanoseconds.most]);
    let (ratio, claims) = collapsed(&runtime, &redis, if quick { 2 } else { 40 })?;
    figures.collapsed = Some(ratio.median);
    figures.spreads.collapsed = Some([ratio.least, ratio.most]);
    figures.collapsed_claims = Some(claims);
    figures.redis = Some(bed);
    Ok(())
}

fn connect(runtime: &Runtime, redis: &Redis, settings: Builder) -> anyhow::Result<Idempotency> {
    Ok(runtime.block_on(settings.namespace(NAMESPACE).connect(&redis.url()))?)
}

/// Nanoseconds of one duplicate, one after the other on one thread.
fn cached(runtime: &Runtime, redis: &Redis, calls: u64) -> anyhow::Result<Spread> {
    let idempotency = connect(runtime, redis, Idempotency::builder().cache(Cache::new()))?;
    let make = |calls: u64| {
        runtime.block_on(async {
            for call in 0..calls {
                black_box(dispatch(&idempotency, black_box(FIRST_ORDER + call % REPEATED)).await?);
            }
            anyhow::Ok(())
        })
    };
    make(2 * REPEATED)?;
    let before = asked(redis)?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        make(calls)?;
        rounds.push(started.elapsed().as_secs_f64() * 1e9 / u64_to_f64(calls));
    }
    ensure!(asked(redis)? == before, "duplicates that are cached asked the store");
    Spread::of(rounds).ok_or_else(|| anyhow::anyhow!("nothing was measured"))
}

/// The throughput of calls in flight that are collapsed over that of calls that each ask, and the claims of one order.
fn collapsed(runtime: &Runtime, redis: &Redis, orders: u64) -> anyhow::Result<(Spread, f64)> {
    let apart = connect(runtime, redis, Idempotency::builder())?;
    let collapsed = connect(runtime, redis, Idempotency::builder().collapse())?;
    let mut next = FIRST_ORDER;
    let mut time = |idempotency: &Idempotency, orders: u64| {
        let first = next;
        next += orders;
        let started = Instant::now();
        runtime.block_on(async {
            for order in first..first + orders {
                together(idempotency, order).await?;
            }
            anyhow::Ok(started.elapsed())
        })
    };
    let (mut ratios, mut commands, mut completed) = (Vec::new(), 0, 0);
    for _ in 0..ROUNDS {
        redis.cli(&["FLUSHALL", "SYNC"])?;
        let each: Duration = time(&apart, orders)?;
        let before = asked(redis)?;
        let one: Duration = time(&collapsed, orders)?;
        commands += asked(redis)? - before;
        completed += orders;
        ratios.push(each.as_secs_f64() / one.as_secs_f64());
    }
    let ratio = Spread::of(ratios).ok_or_else(|| anyhow::anyhow!("nothing was measured"))?;
    // A completion is a script and the write in it; the rest are claims.
    let of_one = u64_to_f64(commands) / u64_to_f64(completed) - 2.0;
    Ok((ratio, of_one))
}

/// One order, by many calls at once.
async fn together(idempotency: &Idempotency, order: u64) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    for _ in 0..TOGETHER {
        let idempotency = idempotency.clone();
        tasks.spawn(async move { dispatch_after_a_while(&idempotency, order).await });
    }
    while let Some(ended) = tasks.join_next().await {
        black_box(ended??);
    }
    Ok(())
}

/// Commands that claim or complete, those in scripts too, which a server was given so far.
fn asked(redis: &Redis) -> anyhow::Result<u64> {
    let stats = redis.cli(&["INFO", "commandstats"])?.to_string();
    let calls = |command: &str| -> Option<u64> {
        let line = stats.lines().find_map(|line| line.strip_prefix(command)?.strip_prefix(":calls="))?;
        line.split(',').next()?.parse().ok()
    };
    Ok(calls("cmdstat_set").unwrap_or(0) + calls("cmdstat_evalsha").unwrap_or(0))
}

#[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
fn u64_to_f64(number: u64) -> f64 {
    number as f64
}
