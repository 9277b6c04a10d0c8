//! The command line of `idempotent`.
//!
//! - `cli`: what can be said · `select`, `decide`: options that several commands have
//! - `commands/`: one module a command
//! - `output/`: tables, JSON, colours, times
//! - `access`: from options to a handle · `audit`: the log of changes · `exit`: exit codes · `progress`
//!
//! It uses what the runtime offers to everybody: `admin`, and nothing of a store's own.

mod access;
mod audit;
mod cli;
mod commands;
mod decide;
mod exit;
mod output;
mod progress;
mod select;
mod span;

use std::process::ExitCode;

use clap::Parser as _;

use cli::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return exit::report(&error.into()),
    };
    match runtime.block_on(commands::run(cli)) {
        Ok(code) => code,
        Err(failure) => exit::report(&failure),
    }
}
