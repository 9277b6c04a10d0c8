//! Nemesis: consumers and servers that are killed, stopped and cut off at random, and a check of all that they did.
//!
//! ```text
//! cargo xtask storm --nemesis --minutes 3            # one server, Sentinel, a Cluster: three minutes each
//! cargo xtask storm --nemesis --minutes 3 --json
//! cargo xtask storm --nemesis --seconds 20 --deployment cluster --seed 7
//! ```
//!
//! From the outside in:
//!
//! - `storm`: one run, from the servers' start to the report
//! - `deployment`: the servers, each behind a proxy
//! - `desk`: where consumers get messages, and where their effects arrive, in front of a fenced sink
//! - `consumer`, `work`: a process of consumers, and what they do under each key
//! - `faults`: the harm
//! - `journal`, `dump`, `history`: what is asked of the store, what servers hold, and the files in which all of it is
//!   written down
//! - `checker`: what must hold of a history

#[cfg(unix)]
mod checker;
#[cfg(unix)]
mod consumer;
#[cfg(unix)]
mod deployment;
#[cfg(unix)]
mod desk;
#[cfg(unix)]
mod dump;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod history;
#[cfg(unix)]
mod journal;
#[cfg(unix)]
mod storm;
#[cfg(unix)]
mod work;

#[cfg(unix)]
fn main() -> anyhow::Result<()> {
    cli::main()
}

#[cfg(not(unix))]
fn main() {
    eprintln!("error: processes are stopped with signals that this system does not have");
}

#[cfg(unix)]
mod cli {
    use std::path::PathBuf;
    use std::time::Duration;

    use anyhow::{Result, ensure};
    use clap::Parser as _;

    use crate::deployment::Kind;
    use crate::storm::{Report, storm};
    use crate::{checker, consumer, history};

    /// How many complaints are told of a run; the others are as many more of the same.
    const TOLD: usize = 20;

    /// Kills, stops and cuts off consumers and servers, and checks what they did.
    #[derive(Debug, clap::Parser)]
    #[command(
        name = "cargo xtask storm --nemesis",
        bin_name = "cargo xtask storm --nemesis",
        args_conflicts_with_subcommands = true
    )]
    struct Options {
        #[command(subcommand)]
        role: Option<Role>,
        /// For so many minutes on each deployment
        #[arg(long, default_value_t = 0)]
        minutes: u64,
        /// For so many seconds more
        #[arg(long, default_value_t = 0)]
        seconds: u64,
        /// On these alone
        #[arg(long)]
        deployment: Vec<Kind>,
        /// Where the choices come from; what the machine makes of them differs each time
        #[arg(long)]
        seed: Option<u64>,
        /// Print a list with one object a deployment
        #[arg(long)]
        json: bool,
    }

    #[derive(Debug, clap::Subcommand)]
    enum Role {
        /// Check a history again
        Check { history: PathBuf },
        /// What a process of consumers is started as
        #[command(name = "consume", hide = true)]
        Consume { settings: String },
    }

    pub(crate) fn main() -> Result<()> {
        let options = Options::parse();
        match options.role {
            Some(Role::Consume { settings }) => {
                return tokio::runtime::Runtime::new()?.block_on(consumer::be_a_process(&settings));
            }
            Some(Role::Check { history }) => {
                println!("{:#?}", checker::check(&history::read(&history)?));
                return Ok(());
            }
            None => {}
        }
        let lasting = Duration::from_secs(60 * options.minutes + options.seconds);
        ensure!(!lasting.is_zero(), "for how long? --minutes 3");
        let kinds = if options.deployment.is_empty() { Kind::ALL.to_vec() } else { options.deployment };
        let seed = options.seed.unwrap_or_else(|| rand::random_range(0..1 << 32));
        let reports = kinds.into_iter().map(|kind| storm(kind, lasting, seed)).collect::<Result<Vec<_>>>()?;
        if options.json {
            println!("{}", serde_json::to_string_pretty(&reports)?);
        } else {
            reports.iter().for_each(print);
        }
        reports.iter().for_each(complain);
        let violations: usize = reports.iter().map(|report| report.violations).sum();
        ensure!(violations == 0, "{violations} violations, with seed {seed}");
        Ok(())
    }

    fn print(report: &Report) {
        let Report { deployment, seconds, keys, calls, runs, worst_call_ms, .. } = report;
        println!(
            "{deployment}: {keys} keys, {calls} calls, {runs} runs in {seconds} s; the longest call {worst_call_ms} ms"
        );
        let faults: Vec<_> = report.faults.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        println!("  {}", faults.join(", "));
        println!(
            "  {} violations; {} acknowledged writes lost in failovers; {} runs overlapped where one stood still",
            report.violations, report.lost_writes, report.overlapping_stopped
        );
        println!(
            "  {} effects taken and {} refused by the fenced sink; {} without a fence came from runs that had stood still",
            report.effects_accepted, report.effects_refused, report.unfenced_after_stop
        );
    }

    fn complain(report: &Report) {
        let Report { deployment, seed, complaints, history, .. } = report;
        let Some(history) = history else { return };
        eprintln!("{deployment}, seed {seed}: the history is in {}", history.display());
        for complaint in complaints.iter().take(TOLD) {
            eprintln!("  {complaint}");
        }
        if let Some(more) = complaints.len().checked_sub(TOLD).filter(|more| *more > 0) {
            eprintln!("  and {more} more");
        }
    }
}
