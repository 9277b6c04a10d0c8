//! `idempotent resolve`: the result that an effect had, for a record that nobody can run any more.

use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::settle::Case;
use crate::cli::Global;
use crate::decide::Deciding;
use crate::exit::Failure;
use crate::output::Out;
use crate::span;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The key, whole
    key: String,
    /// The handler's result as JSON, as the first run would have recorded it
    #[arg(long, value_parser = json)]
    result: Value,
    /// How long duplicates get it: the handler's ttl
    #[arg(long, value_parser = span::parse, value_name = "TIME")]
    ttl: Duration,
    #[command(flatten)]
    deciding: Deciding,
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{error}; a text is written '\"so\"', and no value is null"))
}

pub(crate) async fn run(options: &Options, global: &Global, out: Out) -> Result<(), Failure> {
    let decision = options.deciding.decision()?;
    let case = Case::open(&options.key, global).await?;
    let ttl = span::text(options.ttl);
    options.deciding.confirm(&format!(
        "complete {}: its duplicates get {} for {ttl}",
        case.described(),
        options.result
    ))?;
    case.idempotency.resolve(&case.key, &case.seen, &options.result, options.ttl, decision).await?;
    case.done("resolved", global, out)
}
