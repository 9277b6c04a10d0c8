//! Duplicates that are answered without a round trip.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use anyhow::ensure;
use benches::{FIRST_ORDER, NAMESPACE, dispatch, dispatch_after_a_while, dispatch_until};
use idempotent_runtime::{Builder, Cache, Idempotency};
use servers::Redis;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::start;
use crate::figures::Figures;
use crate::spread::Spread;

const ROUNDS: usize = 5;

/// Duplicates are of so many orders.
const REPEATED: u64 = 1_000;

/// Calls of one order that are in flight together.
const TOGETHER: u32 = 1_000;

/// Measures a cached duplicate, and calls in flight that are collapsed against those that each ask.
pub(crate) fn repeats(figures: &mut Figures, quick: bool) -> anyhow::Result<()> {
    let (redis, bed) = start()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let nanoseconds = cached(&runtime, &redis, if quick { 10_000 } else { 500_000 })?;
    figures.cached_duplicate_ns = Some(nanoseconds.median);
    figures.spreads.cached_duplicate_ns = Some([nanoseconds.least, nanoseconds.most]);
    collapsed(&runtime, &redis, figures, if quick { 2 } else { 40 })?;
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

/// How calls of one order went that were in flight together.
struct Together {
    /// Calls a second.
    rate: f64,
    claims: f64,
}

/// Sets calls in flight that are collapsed against those that each ask.
fn collapsed(runtime: &Runtime, redis: &Redis, figures: &mut Figures, orders: u64) -> anyhow::Result<()> {
    let apart = connect(runtime, redis, Idempotency::builder())?;
    let collapsed = connect(runtime, redis, Idempotency::builder().collapse())?;
    let (mut busy, mut waiting, mut claims) = (Vec::new(), Vec::new(), 0.0_f64);
    for _ in 0..ROUNDS {
        redis.cli(&["FLUSHALL", "SYNC"])?;
        let each = refused(runtime, redis, &apart, orders)?;
        let one = refused(runtime, redis, &collapsed, orders)?;
        busy.push(one.rate / each.rate);
        claims = claims.max(one.claims);
        let each = waited_for(runtime, redis, &apart, orders)?;
        let one = waited_for(runtime, redis, &collapsed, orders)?;
        waiting.push(one.rate / each.rate);
        claims = claims.max(one.claims);
    }
    if let Some((busy, waiting)) = Spread::of(busy).zip(Spread::of(waiting)) {
        (figures.collapsed_busy, figures.spreads.collapsed_busy) = (Some(busy.median), Some([busy.least, busy.most]));
        (figures.collapsed_waiting, figures.spreads.collapsed_waiting) =
            (Some(waiting.median), Some([waiting.least, waiting.most]));
        figures.collapsed_claims = Some(claims);
    }
    Ok(())
}

/// Duplicates of a run that is in progress, which are refused; so many of each order in flight.
fn refused(runtime: &Runtime, redis: &Redis, idempotency: &Idempotency, orders: u64) -> anyhow::Result<Together> {
    let before = asked(redis)?;
    let time = runtime.block_on(async {
        let (began, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let run = tokio::spawn({
            let (idempotency, began, end) = (idempotency.clone(), Arc::clone(&began), Arc::clone(&end));
            async move { dispatch_until(&idempotency, FIRST_ORDER, &began, &end).await }
        });
        began.notified().await;
        let started = Instant::now();
        let mut tasks = JoinSet::new();
        for _ in 0..TOGETHER {
            let idempotency = idempotency.clone();
            tasks.spawn(async move {
                for _ in 0..orders {
                    ensure!(black_box(dispatch(&idempotency, FIRST_ORDER).await).is_err(), "a run is in progress");
                }
                Ok(())
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        let time = started.elapsed();
        end.notify_one();
        run.await??;
        anyhow::Ok(time)
    })?;
    redis.cli(&["FLUSHALL", "SYNC"])?;
    // A completion is a script and the write in it; the rest are claims.
    let claims = u64_to_f64(asked(redis)? - before) - 2.0;
    Ok(Together { rate: f64::from(TOGETHER) * u64_to_f64(orders) / time.as_secs_f64(), claims })
}

/// Duplicates that come together with the first call, and wait for its value.
fn waited_for(runtime: &Runtime, redis: &Redis, idempotency: &Idempotency, orders: u64) -> anyhow::Result<Together> {
    let before = asked(redis)?;
    let started = Instant::now();
    runtime.block_on(async {
        for order in FIRST_ORDER..FIRST_ORDER + orders {
            let mut tasks = JoinSet::new();
            for _ in 0..TOGETHER {
                let idempotency = idempotency.clone();
                tasks.spawn(async move { dispatch_after_a_while(&idempotency, order).await });
            }
            while let Some(ended) = tasks.join_next().await {
                black_box(ended??);
            }
        }
        anyhow::Ok(())
    })?;
    let time = started.elapsed();
    let claims = u64_to_f64(asked(redis)? - before) / u64_to_f64(orders) - 2.0;
    redis.cli(&["FLUSHALL", "SYNC"])?;
    Ok(Together { rate: f64::from(TOGETHER) * u64_to_f64(orders) / time.as_secs_f64(), claims })
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
