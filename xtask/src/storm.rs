//! `cargo xtask storm --sql`: duplicates from four processes on one database, while everything comes to grief.

use anyhow::bail;

use crate::command;

pub(crate) fn run(sql: bool, rounds: Option<u32>, as_json: bool) -> anyhow::Result<()> {
    if !sql {
        bail!(
            "say which storm: `cargo xtask storm --sql`; the one on RabbitMQ and Redis is `cargo run --example storm`"
        );
    }
    // Quiet, so that with `--json` the output is the object alone.
    let mut cargo = command::cargo();
    cargo.args(["run", "--quiet", "--locked", "--package", "tests", "--all-features", "--bin", "storm", "--"]);
    if let Some(rounds) = rounds {
        cargo.args(["--rounds", &rounds.to_string()]);
    }
    if as_json {
        cargo.arg("--json");
    }
    command::run(&mut cargo)
}
