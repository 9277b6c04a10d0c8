//! Guarded calls on Redis, against what a person would write by hand.

mod by_hand;
mod clustered;
mod guarded;
mod record;
mod repeats;
mod tiered;
mod turns;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use servers::{Redis, RedisBinary};
use tokio::runtime::Runtime;

use self::by_hand::{ByHand, Nodelay};
use self::guarded::{Guarded, GuardedSteps};
use self::tiered::Tiered;
use self::turns::{Contender, Length};
use crate::figures::{Bed, ByInFlight, Figures, Rates};
use crate::spread::Spread;

pub(crate) use clustered::cluster;
pub(crate) use record::record_bytes;
pub(crate) use repeats::repeats;

/// Calls in flight.
const IN_FLIGHT: [usize; 3] = [1, 50, 500];

/// Runs a server, and gives it and the client a core each where that can be done.
fn start() -> anyhow::Result<(Redis, Bed)> {
    let mut missing = None;
    for &binary in RedisBinary::ALL {
        match Redis::start(binary) {
            Ok(redis) => {
                let pinned = pin(&redis);
                let bed = Bed { server: version(&redis)?, pinned };
                return Ok((redis, bed));
            }
            Err(error) if error.is_missing() => missing = missing.or(Some(error)),
            Err(error) => return Err(error.into()),
        }
    }
    Err(missing.context("no server is known")?.into())
}

fn forget(redis: &Redis) -> anyhow::Result<()> {
    redis.cli(&["FLUSHALL", "SYNC"])?;
    Ok(())
}

/// Whether both have a core of their own now: not where there is one core, or no `taskset`.
pub(crate) fn pin(redis: &Redis) -> bool {
    servers::pin(std::process::id(), 1).is_ok() && redis.pin_to(0).is_ok()
}

fn version(redis: &Redis) -> anyhow::Result<String> {
    let info = redis.cli(&["INFO", "server"])?;
    let info = info.text().unwrap_or_default();
    let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    let name = field("server_name").unwrap_or("redis");
    Ok(format!("{name} {}", field("valkey_version").or(field("redis_version")).unwrap_or("unknown")))
}

/// Measures first calls and duplicates.
pub(crate) fn speed(figures: &mut Figures, quick: bool) -> anyhow::Result<()> {
    let (redis, bed) = start()?;
    let runtime = runtime()?;
    let length = if quick { Length::QUICK } else { Length::FULL };
    let mut first = ByInFlight::new();
    let mut duplicate = ByInFlight::new();
    for in_flight in IN_FLIGHT {
        let contenders = runtime.block_on(first_calls(&redis.url()))?;
        first.insert(in_flight, turns::measure(&runtime, &|| forget(&redis), &contenders, in_flight, length)?);
        let contenders = runtime.block_on(duplicates(&redis.url()))?;
        duplicate.insert(in_flight, turns::measure(&runtime, &|| forget(&redis), &contenders, in_flight, length)?);
    }
    let (ratios, spreads, rates) = compare(first, GUARDED, &[NAGLE, NODELAY]);
    (figures.first_call, figures.spreads.first_call, figures.calls_per_second.first_call) =
        (Some(ratios), spreads, rates);
    let (ratios, spreads, rates) = compare(duplicate, GUARDED, &[NAGLE, NODELAY]);
    (figures.duplicate, figures.spreads.duplicate, figures.calls_per_second.duplicate) = (Some(ratios), spreads, rates);
    figures.redis = Some(bed);
    Ok(())
}

/// Measures first calls of steps against those of whole keys.
pub(crate) fn layouts(figures: &mut Figures, quick: bool) -> anyhow::Result<()> {
    let (redis, bed) = start()?;
    let runtime = runtime()?;
    let length = if quick { Length::QUICK } else { Length::FULL };
    let mut first = ByInFlight::new();
    for in_flight in IN_FLIGHT {
        let contenders = runtime.block_on(both_layouts(&redis.url()))?;
        first.insert(in_flight, turns::measure(&runtime, &|| forget(&redis), &contenders, in_flight, length)?);
    }
    let (ratios, spreads, rates) = compare(first, STEPS, &[GUARDED]);
    (figures.hash_layout, figures.spreads.hash_layout, figures.calls_per_second.hash_layout) =
        (Some(ratios), spreads, rates);
    figures.redis = Some(bed);
    Ok(())
}

/// Measures duplicates on Redis in front of a SQLite file against those on Redis alone.
pub(crate) fn tiered(figures: &mut Figures, quick: bool) -> anyhow::Result<()> {
    let (redis, bed) = start()?;
    let runtime = runtime()?;
    let length = if quick { Length::QUICK } else { Length::FULL };
    let mut duplicate = ByInFlight::new();
    for in_flight in IN_FLIGHT {
        let folder = tempfile::TempDir::with_prefix("idempotent-bench-")?;
        let contenders = runtime.block_on(on_one_and_on_two(&redis.url(), folder.path()))?;
        duplicate.insert(in_flight, turns::measure(&runtime, &|| forget(&redis), &contenders, in_flight, length)?);
    }
    let (ratios, spreads, rates) = compare(duplicate, TIERED, &[GUARDED]);
    (figures.tiered_duplicate, figures.spreads.tiered_duplicate, figures.calls_per_second.tiered_duplicate) =
        (Some(ratios), spreads, rates);
    figures.redis = Some(bed);
    Ok(())
}

/// One thread for the client's work, since it has one core.
fn runtime() -> anyhow::Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
}

async fn first_calls(url: &str) -> anyhow::Result<Vec<Contender>> {
    Ok(vec![
        Contender::first_calls(NAGLE, ByHand::connect(url, Nodelay::Off).await?),
        Contender::first_calls(NODELAY, ByHand::connect(url, Nodelay::On).await?),
        Contender::first_calls(GUARDED, Guarded::connect(url).await?),
    ])
}

async fn duplicates(url: &str) -> anyhow::Result<Vec<Contender>> {
    Ok(vec![
        Contender::duplicates(NAGLE, ByHand::connect(url, Nodelay::Off).await?),
        Contender::duplicates(NODELAY, ByHand::connect(url, Nodelay::On).await?),
        Contender::duplicates(GUARDED, Guarded::connect(url).await?),
    ])
}

/// First calls whose records are strings, and first calls of the steps of entities.
async fn both_layouts(url: &str) -> anyhow::Result<Vec<Contender>> {
    Ok(vec![
        Contender::first_calls(GUARDED, Guarded::connect(url).await?),
        Contender::first_calls(STEPS, GuardedSteps::connect(url).await?),
    ])
}

async fn on_one_and_on_two(url: &str, folder: &Path) -> anyhow::Result<Vec<Contender>> {
    let tiered = Tiered::connect(url, folder).await?;
    let truth = tiered.truth();
    Ok(vec![
        Contender::duplicates(GUARDED, Guarded::connect(url).await?),
        // Of calls that completed here, as most duplicates are.
        Contender::duplicates(TIERED, tiered).beginning_with(move || truth.clone().empty()),
    ])
}

const NAGLE: &str = "by_hand";
const NODELAY: &str = "by_hand_nodelay";
const GUARDED: &str = "guarded";
const STEPS: &str = "guarded_steps";
const TIERED: &str = "tiered";

/// Calls a second, by contender and round.
type Measured = BTreeMap<&'static str, Vec<f64>>;

type Compared = (ByInFlight<f64>, ByInFlight<[f64; 2]>, ByInFlight<Rates>);

/// Sets the contender's calls of each round against those of the better baseline in the same round.
fn compare(measured: ByInFlight<Measured>, contender: &str, baselines: &[&'static str]) -> Compared {
    let mut compared = Compared::default();
    for (in_flight, rates) in measured {
        let spreads: Rates =
            rates.iter().filter_map(|(name, rates)| Some((*name, Spread::of(rates.clone())?))).collect();
        let median = |name: &str| spreads.get(name).map_or(0.0, |spread: &Spread| spread.median);
        let better = baselines.iter().copied().max_by(|one, other| median(one).total_cmp(&median(other)));
        let better = better.map_or(&rates[contender], |better| &rates[better]);
        let ratios = rates[contender].iter().zip(better).map(|(its, better)| its / better).collect();
        if let Some(ratio) = Spread::of(ratios) {
            compared.0.insert(in_flight, ratio.median);
            compared.1.insert(in_flight, [ratio.least, ratio.most]);
        }
        compared.2.insert(in_flight, spreads);
    }
    compared
}
