//! Goes through the model: `cargo run --release -p model -- --help`.

use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::Parser;
use model::liveness::settles;
use model::protocol::Protocol;
use model::rules::Rule;
use model::setting::MOST_CALLS;
use model::suite::{self, Named};

/// Goes through every state of the protocol's model, and says what breaks.
#[derive(Debug, Parser)]
#[command(name = "model")]
struct Options {
    /// How many workers call the handler, each once.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=4))]
    workers: u8,
    /// How many threads check. With one, a counterexample is a shortest one.
    #[arg(long, default_value = "1")]
    threads: NonZeroUsize,
    /// Only settings whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// With fewer faults: no message is lost, late or repeated, no call is dropped, and no record expires.
    #[arg(long)]
    narrow: bool,
    /// Leaves a rule out and prints the shortest counterexample; `all` for every rule in turn, `list` for their names.
    #[arg(long)]
    without: Option<String>,
    /// Looks instead whether a key is settled in the end (needs memory for the whole graph).
    #[arg(long)]
    settle: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let holds = match &options.without {
        Some(name) => leave_out(name),
        None => go_through(&options),
    };
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether all promises hold.
fn go_through(options: &Options) -> bool {
    let calls = usize::from(options.workers);
    let mut settings = suite::policies(calls);
    // With more calls the troubles are for those who name one and have an hour.
    if calls <= 2 || options.only.is_some() {
        settings.extend(suite::troubles(calls));
        settings.extend(suite::mixtures());
    }
    let chosen = |named: &Named| options.only.as_ref().is_none_or(|only| named.name.contains(only.as_str()));
    let mut hold = true;
    for named in settings.into_iter().filter(chosen) {
        let named = if options.narrow { suite::narrow(named) } else { named };
        hold &= if options.settle { settle(named) } else { check(named, options.threads) };
    }
    hold
}

fn check(named: Named, threads: NonZeroUsize) -> bool {
    let report = Protocol::new(named.setting).check(threads);
    println!("{}: {}", named.name, report.explain());
    report.counterexample.is_none()
}

fn settle(named: Named) -> bool {
    if named.setting.calls >= MOST_CALLS {
        println!("{}: there is no room for the call that comes next", named.name);
        return false;
    }
    let settling = settles(&named.setting);
    match settling.stuck {
        None => println!("{}: {} states, from each the key is settled in the end", named.name, settling.states),
        Some(state) => println!("{}: never settled: {state:#?}", named.name),
    }
    settling.stuck.is_none()
}

/// Whether every rule that is left out breaks what it should.
fn leave_out(name: &str) -> bool {
    let rules: Vec<Rule> = Rule::ALL.into_iter().filter(|rule| name == "all" || format!("{rule:?}") == name).collect();
    if rules.is_empty() {
        println!("the rules are {:#?}", Rule::ALL);
        return name == "list";
    }
    let mut needed = true;
    for rule in rules {
        let report = rule.counterexample();
        println!("without {rule:?}, {}", report.explain());
        needed &= report.broken() == Some(rule.breaks());
    }
    needed
}
