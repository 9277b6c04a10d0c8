//! `cargo xtask bench`: what a guarded call costs, as figures with bars.

mod bars;
mod cli;
mod compile;
mod figures;
mod future_size;
mod http;
mod memory;
mod million;
mod paced;
mod redis;
mod spread;
mod sql;
mod sweep;
mod table;

use std::process::ExitCode;

use clap::Parser as _;

use self::cli::Cli;

fn main() -> ExitCode {
    match cli::run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
