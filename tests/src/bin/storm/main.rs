//! Duplicates from four processes on one database, again and again, while their winner and the server come to grief.
//!
//! ```text
//! storm [--store NAME] [--rounds N] [--json]    N rounds of each scenario, on PostgreSQL and on a SQLite file
//! storm worker URL KEY CALLS ROLE               one of the processes
//! ```

mod database;
mod patience;
mod role;
mod round;
mod scenario;
mod worker;

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};

use self::database::{Database, Lite, Pg};

/// As many rounds of each scenario as the long form has.
const ROUNDS: u32 = 100;

const STORES: [&str; 2] = ["postgres", "sqlite"];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, rest @ ..] = &arguments[..]
        && word == "worker"
    {
        return worker::run(rest);
    }
    let (mut rounds, mut as_json, mut only) = (ROUNDS, false, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => as_json = true,
            "--rounds" => rounds = words.next().context("`--rounds` needs a number")?.parse()?,
            "--store" => {
                let name = words.next().context("`--store` needs `postgres` or `sqlite`")?;
                let known = STORES.into_iter().find(|known| known == name);
                only = Some(known.with_context(|| format!("`{name}` is no store: `postgres` or `sqlite`"))?);
            }
            other => bail!("`{other}` is unknown; use `--store NAME`, `--rounds N` and `--json`"),
        }
    }
    let mut stores = Vec::new();
    for name in STORES.into_iter().filter(|name| only.is_none_or(|only| only == *name)) {
        stores.push((name, storm(name, rounds, as_json)?));
    }
    let found: Vec<String> = stores.iter().flat_map(|(_, of_store)| of_store.found.iter().cloned()).collect();
    if as_json {
        let played: u32 = stores.iter().map(|(_, of_store)| of_store.rounds).sum();
        let stores: Map<_, _> = stores.iter().map(|(name, of_store)| ((*name).to_owned(), of_store.json())).collect();
        println!("{}", json!({ "rounds": played, "violations": found.len(), "stores": stores, "found": found }));
    }
    if found.is_empty() { Ok(()) } else { bail!("{} violations:\n{}", found.len(), found.join("\n")) }
}

/// What a storm on one store came to.
struct Played {
    rounds: u32,
    scenarios: Map<String, Value>,
    found: Vec<String>,
}

impl Played {
    fn json(&self) -> Value {
        json!({ "rounds": self.rounds, "violations": self.found.len(), "scenarios": self.scenarios })
    }
}

fn storm(name: &str, rounds: u32, as_json: bool) -> anyhow::Result<Played> {
    let mut database: Box<dyn Database> =
        if name == "sqlite" { Box::new(Lite::start()?) } else { Box::new(Pg::start()?) };
    let mut played = Played { rounds: 0, scenarios: Map::new(), found: Vec::new() };
    for scenario in database.scenarios() {
        let before = played.found.len();
        for _ in 0..rounds {
            played.rounds += 1;
            let key = format!("round-{}", played.rounds);
            for violation in round::play(&mut *database, scenario, &key)? {
                played.found.push(format!("{name}, {key}, {scenario}: {violation}"));
            }
        }
        let violations = played.found.len() - before;
        if !as_json {
            println!("{name}, {scenario}: {rounds} rounds, {violations} violations");
        }
        played.scenarios.insert(scenario.to_string(), json!({ "rounds": rounds, "violations": violations }));
    }
    Ok(played)
}
