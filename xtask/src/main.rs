//! Tasks of this repository, run as `cargo xtask TASK`.

mod bench;
mod command;
mod features;
mod fuzz;
mod loom;
mod model;
mod setup;
mod storm;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tasks of this repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install the servers that the tests need; says first what it will install.
    Setup {
        /// Only list what is missing; fails where something is.
        #[arg(long)]
        check: bool,
    },
    /// Set up, build, and run every test; a missing server is a failure here.
    Test {
        /// Handed to the test runner: a filter, or its options.
        #[arg(last = true)]
        runner_arguments: Vec<String>,
    },
    /// Build the runtime with no feature, and with each alone, without a warning.
    Features,
    /// Fuzz what reads bytes of other people; needs cargo-fuzz and a C++ compiler.
    Fuzz {
        /// `header`, `record` or `key`; all of them where none is named.
        targets: Vec<String>,
        /// For how long each.
        #[arg(long, default_value_t = 600)]
        seconds: u32,
    },
    /// Build for release and run the benchmarks.
    Bench {
        /// Handed to the benchmarks: `--json`, or the name of one.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Deliver orders to consumers that are killed; with `--nemesis`, harm servers and connections too; with `--sql`, send
    /// duplicates to databases.
    ///
    /// `--nemesis --minutes 3` storms on one server, behind Sentinels and on a Cluster, and checks all that was done.
    /// `--sql --rounds 100` sends duplicates from four processes to PostgreSQL and to a SQLite file, while their winner and
    /// the server are killed.
    Storm {
        /// Handed to the storm: `--nemesis`, `--minutes 3`, `--json`, `--kill-every 2s`, `--help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Go through the whole model of the protocol, built for release.
    Model {
        /// Handed to the model instead: `--without list`, `--workers 3 --only hold`, `--help`.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Try the memory store from three threads, in every order that loom finds.
    Loom,
}

fn main() -> ExitCode {
    let done = match Cli::parse().task {
        Task::Setup { check: true } => setup::check(),
        Task::Setup { check: false } => setup::run(),
        Task::Test { runner_arguments } => test::run(&runner_arguments),
        Task::Features => features::run(),
        Task::Fuzz { targets, seconds } => fuzz::run(&targets, seconds),
        Task::Bench { arguments } => bench::run(&arguments),
        Task::Model { arguments } => model::run(&arguments),
        Task::Storm { arguments } => storm::run(&arguments),
        Task::Loom => loom::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // By hand, for its user is to read one sentence, not a backtrace.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
