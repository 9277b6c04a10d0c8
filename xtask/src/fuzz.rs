//! `cargo xtask fuzz`: the fuzz targets, each for some time.

use std::path::PathBuf;
use std::{env, fs};

use anyhow::{Context as _, bail};

use crate::command;

/// The targets, as `fuzz/Cargo.toml` has them.
pub(crate) const TARGETS: [&str; 3] = ["header", "record", "key"];

/// Runs `targets` (all, where none is named) for so many seconds each, beginning with the seeds that are kept.
pub(crate) fn run(targets: &[String], seconds: u32) -> anyhow::Result<()> {
    if let Some(unknown) = targets.iter().find(|target| !TARGETS.contains(&target.as_str())) {
        bail!("there is no fuzz target `{unknown}`; there are {}", TARGETS.join(", "));
    }
    if !command::works("cargo-fuzz", &["--version"]) {
        bail!("cargo-fuzz is missing: `cargo install cargo-fuzz` installs it");
    }
    let all: Vec<_> = TARGETS.into_iter().map(str::to_owned).collect();
    for target in if targets.is_empty() { &all } else { targets } {
        let workspace = command::workspace();
        let found = target_folder().join("fuzz").join(target);
        fs::create_dir_all(&found).with_context(|| format!("could not make {}", found.display()))?;
        let mut cargo = command::cargo();
        // A sanitizer is not for stable compilers, by themselves.
        cargo.env("RUSTC_BOOTSTRAP", "1").args(["fuzz", "run", target]).arg(found);
        cargo.arg(workspace.join("fuzz/seeds").join(target));
        cargo.args(["--", &format!("-max_total_time={seconds}"), "-print_final_stats=1"]);
        command::run(&mut cargo)?;
    }
    Ok(())
}

fn target_folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| command::workspace().join("target"), PathBuf::from)
}
