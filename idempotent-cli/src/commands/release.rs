//! `idempotent release`: the next call runs.

use clap::Args;

use super::settle::Case;
use crate::cli::Global;
use crate::decide::Deciding;
use crate::exit::Failure;
use crate::output::Out;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The key, whole
    key: String,
    #[command(flatten)]
    deciding: Deciding,
}

pub(crate) async fn run(options: &Options, global: &Global, out: Out) -> Result<(), Failure> {
    let decision = options.deciding.decision()?;
    let case = Case::open(&options.key, global).await?;
    options.deciding.confirm(&format!("release {}: its next call runs", case.described()))?;
    case.idempotency.release(&case.key, &case.seen, decision).await?;
    case.done("released", global, out)
}
