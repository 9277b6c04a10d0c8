//! Duplicates from four processes on one PostgreSQL, again and again, while their winner and the server come to grief.
//!
//! ```text
//! storm [--rounds N] [--json]            N rounds of each scenario
//! storm worker URL KEY CALLS ROLE        one of the processes
//! ```

mod round;
mod scenario;
mod worker;

use anyhow::{Context as _, bail};
use serde_json::json;

use self::round::Storm;
use self::scenario::Scenario;

/// As many rounds of each scenario as the long form has.
const ROUNDS: u32 = 100;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, rest @ ..] = &arguments[..]
        && word == "worker"
    {
        return worker::run(rest);
    }
    let (mut rounds, mut as_json) = (ROUNDS, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => as_json = true,
            "--rounds" => rounds = words.next().context("`--rounds` needs a number")?.parse()?,
            other => bail!("`{other}` is unknown; use `--rounds N` and `--json`"),
        }
    }
    storm(rounds, as_json)
}

fn storm(rounds: u32, as_json: bool) -> anyhow::Result<()> {
    let storm = Storm::start()?;
    let (mut played, mut found) = (0, Vec::new());
    let mut scenarios = serde_json::Map::new();
    for scenario in Scenario::ALL {
        let before = found.len();
        for _ in 0..rounds {
            played += 1;
            let violations = storm.round(scenario, played)?;
            found.extend(violations.into_iter().map(|violation| format!("round {played}, {scenario}: {violation}")));
        }
        let violations = found.len() - before;
        if !as_json {
            println!("{scenario}: {rounds} rounds, {violations} violations");
        }
        scenarios.insert(scenario.to_string(), json!({ "rounds": rounds, "violations": violations }));
    }
    if as_json {
        println!("{}", json!({ "rounds": played, "violations": found.len(), "scenarios": scenarios, "found": found }));
    }
    if found.is_empty() { Ok(()) } else { bail!("{} violations:\n{}", found.len(), found.join("\n")) }
}
