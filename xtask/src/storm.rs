//! `cargo xtask storm`: the example of that name, or the nemesis, built for release.

use crate::command;

/// Where the harm goes to servers and connections too.
const NEMESIS: &str = "--nemesis";

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    // Quiet, so that with `--json` the output is what was asked for alone.
    let mut cargo = command::cargo();
    cargo.args(["run", "--locked", "--quiet", "--release"]);
    if arguments.iter().any(|argument| argument == NEMESIS) {
        cargo.args(["--package", "nemesis", "--"]).args(arguments.iter().filter(|argument| *argument != NEMESIS));
    } else {
        cargo.args(["--package", "examples", "--example", "storm", "--"]).args(arguments);
    }
    command::run(&mut cargo)
}
