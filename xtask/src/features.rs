//! `cargo xtask features`: the runtime with no feature, and with each alone, without a warning.

use std::fs;

use anyhow::Context as _;

use crate::command;

const PACKAGE: &str = "idempotent-runtime";

pub(crate) fn run() -> anyhow::Result<()> {
    let manifest = command::workspace().join(PACKAGE).join("Cargo.toml");
    let manifest = fs::read_to_string(&manifest).with_context(|| format!("could not read {}", manifest.display()))?;
    let features = named(&manifest);
    anyhow::ensure!(!features.is_empty(), "{PACKAGE} names no features");
    command::run(&mut clippy(""))?;
    for feature in &features {
        command::run(&mut clippy(feature))?;
    }
    println!("cargo xtask features: none, and each of {}, builds without a warning", features.join(", "));
    Ok(())
}

/// Only members of the workspace are told to fail for a warning, so what they depend on is not built anew.
fn clippy(features: &str) -> std::process::Command {
    let mut cargo = command::cargo();
    cargo.args(["clippy", "--locked", "--quiet", "--package", PACKAGE, "--lib", "--no-default-features"]);
    cargo.args(["--features", features, "--", "-D", "warnings"]);
    cargo
}

/// The names in the section `[features]`, but for `default`.
fn named(manifest: &str) -> Vec<&str> {
    let section = manifest.lines().skip_while(|line| *line != "[features]").skip(1);
    let section = section.take_while(|line| !line.starts_with('['));
    let names = section
        .filter(|line| !line.starts_with([' ', '#']))
        .filter_map(|line| line.split_once(" =").map(|parts| parts.0));
    names.filter(|name| *name != "default").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_found() {
        let manifest = "[package]\nname = \"x\"\n[features]\ndefault = []\n# One.\none = [\"a/b\"]\ntwo = [\n    \"c\",\n]\n\n[dependencies]\nthree = 1\n";
        assert_eq!(named(manifest), ["one", "two"]);
    }
}
