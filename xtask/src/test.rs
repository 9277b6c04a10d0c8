//! `cargo xtask test`: every test, on every server.

use std::process::Command;

use crate::{command, loom, setup};

pub(crate) fn run(runner_arguments: &[String]) -> anyhow::Result<()> {
    setup::run()?;

    if command::works("cargo-nextest", &["nextest", "--version"]) {
        command::run(workspace_tests(&["nextest", "run"]).args(runner_arguments))?;
        // nextest leaves out the examples in the documentation. A filter is not meant for them.
        if runner_arguments.is_empty() {
            command::run(&mut workspace_tests(&["test", "--doc"]))?;
        }
    } else {
        command::run(workspace_tests(&["test", "--no-fail-fast"]).args(runner_arguments))?;
    }
    // So does every other run leave out what is built for loom alone.
    if runner_arguments.is_empty() {
        loom::run()?;
    }
    println!("cargo xtask test: every test that was run passed, and none was left out");
    Ok(())
}

/// A run of tests over all packages and features, in which a missing server is a failure.
fn workspace_tests(runner: &[&str]) -> Command {
    let mut cargo = command::cargo();
    cargo.args(runner).args(["--workspace", "--all-features"]).env(servers::REQUIRE_VARIABLE, "1");
    cargo
}
