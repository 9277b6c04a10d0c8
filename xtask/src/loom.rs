//! `cargo xtask loom`: the memory store from three threads, in every order that loom finds.

use crate::command;

pub(crate) fn run() -> anyhow::Result<()> {
    let mut cargo = command::cargo();
    // Another folder than that of the other builds, which another flag for the compiler would build anew each time.
    cargo.args(["test", "--locked", "--target-dir", "target/loom", "--package", "idempotent-runtime"]);
    cargo.args(["--lib", "memory::loom"]).env("RUSTFLAGS", "--cfg idempotent_loom");
    command::run(&mut cargo)
}
