//! `cargo xtask storm`: the example of that name, the nemesis, or the storm on databases, built for release.

use crate::command;

/// Where the harm goes to servers and connections too.
const NEMESIS: &str = "--nemesis";

/// Duplicates from four processes on a database, of each kind.
const SQL: &str = "--sql";

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let asked = |for_one: &str| arguments.iter().any(|argument| argument == for_one);
    // Quiet, so that with `--json` the output is what was asked for alone.
    let mut cargo = command::cargo();
    cargo.args(["run", "--locked", "--quiet"]);
    if asked(NEMESIS) {
        cargo.args(["--release", "--package", "nemesis", "--"]);
    } else if asked(SQL) {
        cargo.args(["--package", "tests", "--all-features", "--bin", "storm", "--"]);
    } else {
        cargo.args(["--release", "--package", "examples", "--example", "storm", "--"]);
    }
    cargo.args(arguments.iter().filter(|argument| ![NEMESIS, SQL].contains(&argument.as_str())));
    command::run(&mut cargo)
}
