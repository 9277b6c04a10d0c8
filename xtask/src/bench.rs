//! `cargo xtask bench`: the benchmarks, built for release.

use crate::command;

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    // Quiet, so that with `--json` the output is the object alone.
    let cargo = |task| {
        let mut cargo = command::cargo();
        cargo.args([task, "--quiet", "--release", "--package", "benches"]);
        cargo
    };
    // All programs of the package, and the command line: some run others.
    command::run(cargo("build").args(["--package", "idempotent-cli", "--bins"]))?;
    command::run(cargo("run").arg("--").args(arguments))
}
