//! `idempotent sweep`: removing what has expired.

use clap::Args;
use idempotent_runtime::admin::Swept;
use serde_json::json;

use crate::access;
use crate::cli::Global;
use crate::exit::Failure;
use crate::output::Out;
use crate::progress;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many to remove in one statement
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,
}

pub(crate) async fn run(options: &Options, global: &Global, out: Out) -> Result<(), Failure> {
    let idempotency = access::open(global).await?;
    let bar = progress::scanning("sweeping");
    let mut removed = 0;
    let by_itself = loop {
        match idempotency.sweep(options.batch).await? {
            Swept::ByItself => break true,
            Swept::Removed(number) => {
                bar.inc(number);
                removed += number;
                if number < u64::from(options.batch) {
                    break false;
                }
            }
        }
    };
    bar.finish_and_clear();
    if global.json {
        return Ok(out.json(&json!({ "removed": removed, "by_itself": by_itself }))?);
    }
    Ok(out.line(&if by_itself {
        "nothing to do: this store forgets by itself what has expired".to_owned()
    } else {
        format!("{removed} expired records were removed")
    })?)
}
