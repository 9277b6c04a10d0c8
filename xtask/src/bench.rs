//! `cargo xtask bench`: the benchmarks, built for release.

use crate::command;

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    // Quiet, so that with `--json` the output is the object alone.
    let cargo = |task, package| {
        let mut cargo = command::cargo();
        cargo.args([task, "--quiet", "--release", "--package", package]);
        cargo
    };
    // All programs of the package: one of them runs another.
    command::run(cargo("build", "benches").arg("--bins"))?;
    // And this one runs the command line. On its own, since with both at once all is built with the features of both.
    if arguments.iter().any(|argument| argument == "million") {
        command::run(cargo("build", "idempotent-cli").arg("--bins"))?;
    }
    command::run(cargo("run", "benches").arg("--").args(arguments))
}
