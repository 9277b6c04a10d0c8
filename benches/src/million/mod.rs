//! The command line on a Redis with a million records: what it takes itself, and what it does to claims.

mod fill;
mod program;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::ensure;
use benches::{NAMESPACE, PREFIX};
use idempotent_runtime::store::RedisStore;
use serde::Serialize;
use servers::{Redis, RedisBinary};

use self::program::{Output, Program, Ran};
use crate::figures::Figures;
use crate::paced::{Claims, Latency};
use crate::redis::pin;

/// Claims a second.
const RATE: u32 = 500;

/// How much is measured.
#[derive(Clone, Copy)]
struct Length {
    records: u64,
    /// In front of each command.
    quiet: Duration,
}

/// The command line on many records.
#[derive(Debug, Serialize)]
pub(crate) struct Million {
    pub(crate) records: u64,
    /// Whether server and client have a core of their own.
    pub(crate) pinned: bool,
    pub(crate) commands: BTreeMap<&'static str, Command>,
}

/// One command.
#[derive(Debug, Serialize)]
pub(crate) struct Command {
    pub(crate) seconds: f64,
    /// What it had in memory at the most, in millions of bytes; `None` where the system does not say.
    pub(crate) peak_mb: Option<f64>,
    /// Claims before it.
    pub(crate) quiet: Latency,
    /// Claims while it ran.
    pub(crate) during: Latency,
    /// The p99 of a claim while it ran, over that before.
    pub(crate) p99_ratio: f64,
}

pub(crate) fn measure(figures: &mut Figures, quick: bool) -> anyhow::Result<()> {
    let length = if quick {
        Length { records: 10_000, quiet: Duration::from_millis(300) }
    } else {
        Length { records: 1_000_000, quiet: Duration::from_secs(10) }
    };
    let program = Program::find()?;
    let redis = Redis::start(RedisBinary::System)?;
    // The command line then shares a core with those who claim: of two cores there is none left for it.
    let pinned = pin(&redis);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let commands = runtime.block_on(async {
        fill::fill(&redis, length.records).await?;
        let claims = Claims::new(RedisStore::connect(&redis.url()).await?, Duration::from_mins(1));
        // To warm up.
        claims.during(RATE, length.quiet / 2).await?;
        let mut commands = BTreeMap::new();
        for (name, arguments) in [
            ("list", &["list", "--limit", "0"][..]),
            ("stats", &["stats"]),
            ("purge --dry-run", &["purge", "--prefix", PREFIX, "--dry-run"]),
        ] {
            let quiet = claims.during(RATE, length.quiet).await?;
            let (during, ran) = claims.until(RATE, program.run(&redis.url(), NAMESPACE, arguments)).await?;
            let Ran { seconds, peak_mb, output } = ran?;
            let found = found(name, &output)?;
            ensure!(found == length.records, "{name} found {found} records of {}", length.records);
            let p99_ratio = during.p99_ms / quiet.p99_ms;
            commands.insert(name, Command { seconds, peak_mb, quiet, during, p99_ratio });
        }
        anyhow::Ok(commands)
    })?;
    figures.million = Some(Million { records: length.records, pinned, commands });
    Ok(())
}

/// How many records a command says that there are.
fn found(name: &str, output: &Output) -> anyhow::Result<u64> {
    let field = |pointer: &str| -> anyhow::Result<u64> {
        let text = output.lines()?.collect::<Result<String, _>>()?;
        let object: serde_json::Value = serde_json::from_str(&text)?;
        Ok(object.pointer(pointer).and_then(serde_json::Value::as_u64).unwrap_or_default())
    };
    match name {
        "list" => output.lines()?.try_fold(0, |count, line| line.map(|_| count + 1)).map_err(Into::into),
        "stats" => field("/total/completed"),
        _ => field("/removed"),
    }
}
