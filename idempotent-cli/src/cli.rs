//! What can be said.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    allow_one_more, completions, dashboard, doctor, import, inspect, key, list, migrate, purge, release, resolve,
    stats, sweep, watch,
};
use crate::exit;

/// What is going on among idempotent calls, and hands to settle it.
#[derive(Debug, Parser)]
#[command(name = "idempotent", version, after_help = exit::HELP, max_term_width = 120)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Where the records are: redis://…, redis+cluster://…, redis+sentinel://…, postgres://… or sqlite:…
    #[arg(long, env = "IDEMPOTENT_URL", hide_env_values = true, global = true)]
    pub(crate) url: Option<String>,
    /// What stands in front of every key: the namespace of the application's handle
    #[arg(long, env = "IDEMPOTENT_NAMESPACE", global = true)]
    pub(crate) namespace: Option<String>,
    /// The schema of the table, on PostgreSQL
    #[arg(long, global = true)]
    pub(crate) schema: Option<String>,
    /// The table, on PostgreSQL and SQLite
    #[arg(long, global = true)]
    pub(crate) table: Option<String>,
    /// JSON for programs: one object, or one a line where there are many
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Where the line goes that each change leaves: appended to this file instead of standard error
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) audit: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say the key of a call, as the attribute derives it; needs no store
    Key(key::Options),
    /// Look at one record
    Inspect(inspect::Options),
    /// List records
    List(list::Options),
    /// Show again and again how many records there are, and which have been silent for long
    Watch(watch::Options),
    /// Count records by state and prefix
    Stats(stats::Options),
    /// Complete a record that nobody can run any more, with the result that its effect had
    Resolve(resolve::Options),
    /// Make a record claimable at once: the next call runs
    Release(release::Options),
    /// Make a record claimable at once, and let one more run start than max_attempts would
    AllowOneMore(allow_one_more::Options),
    /// Take over what was done before there were records: keys become completed records
    Import(import::Options),
    /// Remove records: counts first, says what it will do, and asks
    Purge(purge::Options),
    /// Remove what has expired, where a store does not do so by itself
    Sweep(sweep::Options),
    /// Say what is dangerous to the records, and what to do about it
    Doctor(doctor::Options),
    /// Serve a page that shows what waits for somebody
    Dashboard(dashboard::Options),
    /// Make the table, or bring it up to date
    Migrate(migrate::Options),
    /// Print completions for a shell
    Completions(completions::Options),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_options_fit_together() {
        super::Cli::command().debug_assert();
    }
}
