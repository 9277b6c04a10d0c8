//! One module a command.

pub(crate) mod allow_one_more;
pub(crate) mod completions;
pub(crate) mod dashboard;
pub(crate) mod doctor;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod key;
pub(crate) mod list;
pub(crate) mod migrate;
pub(crate) mod purge;
pub(crate) mod release;
pub(crate) mod resolve;
mod settle;
pub(crate) mod stats;
pub(crate) mod sweep;
pub(crate) mod watch;

use std::process::ExitCode;

use crate::audit;
use crate::cli::{Cli, Command};
use crate::exit::Failure;
use crate::output::Out;

/// Does what the command line says.
pub(crate) async fn run(Cli { global, command }: Cli) -> Result<ExitCode, Failure> {
    audit::install(&global)?;
    let out = Out::new();
    match command {
        Command::Key(options) => key::run(&options, &global, out),
        Command::Inspect(options) => inspect::run(&options, &global, out).await,
        Command::List(options) => list::run(&options, &global, out).await,
        Command::Watch(options) => watch::run(&options, &global, out).await,
        Command::Stats(options) => stats::run(&options, &global, out).await,
        Command::Resolve(options) => resolve::run(&options, &global, out).await,
        Command::Release(options) => release::run(&options, &global, out).await,
        Command::AllowOneMore(options) => allow_one_more::run(&options, &global, out).await,
        Command::Import(options) => import::run(&options, &global, out).await,
        Command::Purge(options) => purge::run(&options, &global, out).await,
        Command::Sweep(options) => sweep::run(&options, &global, out).await,
        Command::Doctor(options) => return doctor::run(&options, &global, out).await,
        Command::Dashboard(options) => dashboard::run(&options, &global, out).await,
        Command::Migrate(options) => migrate::run(&options, &global, out).await,
        Command::Completions(options) => completions::run(&options, out),
    }
    .map(|()| ExitCode::SUCCESS)
}
