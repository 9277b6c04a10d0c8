//! `cargo xtask test`: every test, on every server.

use std::process::Command;

use crate::{command, setup};

pub(crate) fn run(runner_arguments: &[String]) -> anyhow::Result<()> {
    setup::run()?;

    command::run(tests().args(runner_arguments))?;
    // nextest does not run the examples in the documentation, and a filter is not for them.
    if runner_arguments.is_empty() {
        command::run(&mut doctests())?;
    }
    println!("cargo xtask test: every test passed");
    Ok(())
}

fn tests() -> Command {
    let mut cargo = command::cargo();
    if command::works("cargo-nextest", &["nextest", "--version"]) {
        cargo.args(["nextest", "run"]);
    } else {
        cargo.args(["test", "--lib", "--bins", "--tests", "--examples"]);
    }
    everything(&mut cargo);
    cargo
}

fn doctests() -> Command {
    let mut cargo = command::cargo();
    cargo.args(["test", "--doc"]);
    everything(&mut cargo);
    cargo
}

fn everything(cargo: &mut Command) {
    cargo
        .args(["--workspace", "--all-features"])
        .env(servers::REQUIRE_VARIABLE, "1");
}
