//! `idempotent watch`: the numbers, again and again.

use std::time::Duration;

use clap::Args;

use super::stats;
use crate::access;
use crate::cli::Global;
use crate::exit::Failure;
use crate::output::Out;
use crate::select::Selection;
use crate::span;

/// Home, and the rest of the screen is cleared.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// How long to wait between two looks, each of which goes through all records that are asked for
    #[arg(long, value_parser = span::parse, value_name = "TIME", default_value = "2s")]
    every: Duration,
    /// How often to look; until it is interrupted unless said
    #[arg(long)]
    times: Option<u64>,
}

pub(crate) async fn run(options: &Options, global: &Global, out: Out) -> Result<(), Failure> {
    let idempotency = access::open(global).await?;
    let query = options.selection.query();
    let mut looks = 0;
    loop {
        let stats = stats::counted(&idempotency, &query).await?;
        if global.json {
            out.json(&stats::described(&stats))?;
        } else {
            let clear = if out.is_terminal() { CLEAR } else { "" };
            let every = span::text(options.every);
            out.text(&format!("{clear}{} every {every}\n\n{}\n", options.selection, stats::shown(&stats, out)))?;
        }
        looks += 1;
        if options.times.is_some_and(|times| looks >= times) {
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(options.every) => {}
            interrupted = tokio::signal::ctrl_c() => return Ok(interrupted?),
        }
    }
}
