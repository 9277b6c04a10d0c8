//! What is asked for on the command line.

use std::io::Write as _;

use clap::{Parser, ValueEnum};

use crate::figures::Figures;
use crate::{compile, future_size, http, memory, million, redis, sql, sweep, table};

/// Measures what a guarded call costs. Without a name it measures everything but `sweep` and `million`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
pub(crate) struct Cli {
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// Measure for a moment only: the figures say that everything works, and nothing else.
    #[arg(long)]
    quick: bool,
    /// Measure what 200 annotated handlers add to the time of a build, which takes minutes; nothing else unless named.
    #[arg(long)]
    compile: bool,
    /// How long records come and go in `sweep`.
    #[arg(long, default_value_t = 10)]
    minutes: u32,
    /// Measure only these.
    what: Vec<What>,
    /// Make so many first calls on the memory store and nothing else, for a tool that counts instructions.
    #[arg(long, hide = true, value_name = "CALLS")]
    only_memory_calls: Option<u64>,
}

/// One part of the benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// First calls and duplicates on Redis, against hand-written code.
    Redis,
    /// First calls on a Cluster of six nodes, against hand-written code.
    Cluster,
    /// First calls of the steps of entities on Redis, against those of whole keys.
    Steps,
    /// First calls on the memory store.
    Memory,
    /// Requests behind the layer for `Idempotency-Key` on the memory store, against those without.
    Http,
    /// Duplicates that are answered without a round trip: cached ones, and those that one call asks for.
    Repeats,
    /// First calls on PostgreSQL and SQLite, in the caller's transaction and with a lease, against hand-written code.
    Sql,
    /// Duplicates on Redis in front of SQLite, against those on Redis alone.
    Tiered,
    /// The size of a record in Redis, and of a future.
    Sizes,
    /// Claims on PostgreSQL while a million expired records are removed, and the table after a while; takes minutes.
    Sweep,
    /// Claims on a Redis with a million records while the command line goes through them; takes minutes.
    Million,
}

pub(crate) fn run(cli: &Cli) -> anyhow::Result<()> {
    if let Some(calls) = cli.only_memory_calls {
        return benches::MemoryCalls::new()?.run(calls);
    }
    let wanted = |what| cli.what.contains(&what) || (cli.what.is_empty() && !cli.compile);
    let mut figures = Figures::default();
    if cli.compile {
        figures.compile = compile::measure(cli.quick)?;
    }
    if wanted(What::Sizes) {
        figures.future_bytes = Some(future_size::measure()?);
        redis::record_bytes(&mut figures)?;
    }
    if wanted(What::Memory) {
        memory::measure(&mut figures, cli.quick)?;
    }
    if wanted(What::Http) {
        http::measure(&mut figures, cli.quick)?;
    }
    if wanted(What::Redis) {
        redis::speed(&mut figures, cli.quick)?;
    }
    if wanted(What::Cluster) {
        redis::cluster(&mut figures, cli.quick)?;
    }
    if wanted(What::Repeats) {
        redis::repeats(&mut figures, cli.quick)?;
    }
    if wanted(What::Steps) {
        redis::layouts(&mut figures, cli.quick)?;
    }
    if wanted(What::Tiered) {
        redis::tiered(&mut figures, cli.quick)?;
    }
    if wanted(What::Sql) {
        sql::measure(&mut figures, cli.quick)?;
    }
    if cli.what.contains(&What::Sweep) {
        sweep::measure(&mut figures, cli.quick, cli.minutes)?;
    }
    if cli.what.contains(&What::Million) {
        million::measure(&mut figures, cli.quick)?;
    }
    let text = if cli.json { serde_json::to_string(&figures)? + "\n" } else { table::text(&figures) };
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
