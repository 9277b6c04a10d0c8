//! `cargo xtask bench`: the benchmarks, built for release.

use crate::command;

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    // Quiet, so that with `--json` the output is the object alone.
    let mut cargo = command::cargo();
    cargo.args(["run", "--quiet", "--release", "--package", "benches", "--"]).args(arguments);
    command::run(&mut cargo)
}
