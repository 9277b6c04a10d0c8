//! No lint fires in a user's crate because of what expands there: clippy goes over a crate of annotated functions with
//! all that it has, but for its restrictions.
//!
//! `handlers.rs` is that crate. Its last function has a mistake of the user's own, so that a clippy that saw nothing
//! would be noticed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const HANDLERS: &str = include_str!("handlers.rs");

/// What `handlers.rs` is wrong in by intention.
const CONTROL: &str = "clippy::needless_continue";

#[test]
fn no_lint_fires_on_what_expands() {
    let folder = user_crate();
    let output = clippy(&folder);
    let fired: Vec<(String, String)> = String::from_utf8_lossy(&output.stdout).lines().filter_map(lint).collect();
    let others: Vec<&str> = fired.iter().filter(|(code, _)| code != CONTROL).map(|(_, text)| text.as_str()).collect();
    assert!(others.is_empty(), "{}", others.join("\n"));
    assert_eq!(fired.len(), 1, "the control fires, so clippy was there: {}", String::from_utf8_lossy(&output.stderr));
}

/// Writes the crate of a user, in a folder of its own below the target directory.
fn user_crate() -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lints");
    let manifest = format!(
        "[package]
name = \"user\"
version = \"0.1.0\"
edition = \"2024\"

[workspace]

[dependencies]
async-trait = \"0.1\"
idempotent-runtime = {{ path = {:?} }}
serde = {{ version = \"1\", features = [\"derive\"] }}
",
        repository.join("idempotent-runtime").display().to_string()
    );
    fs::create_dir_all(folder.join("src")).expect("a folder below the target directory");
    fs::write(folder.join("Cargo.toml"), manifest).expect("a manifest");
    // The versions that everything else here is built with.
    fs::copy(repository.join("Cargo.lock"), folder.join("Cargo.lock")).expect("a lock file");
    fs::write(folder.join("src/lib.rs"), HANDLERS).expect("a source");
    folder
}

fn clippy(folder: &Path) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["clippy", "--quiet", "--offline", "--message-format=json", "--", "-Wunused"]);
    for group in ["all", "pedantic", "nursery", "cargo"] {
        cargo.arg(format!("-Wclippy::{group}"));
    }
    // What the table in the manifest lacks, and what is said of other crates.
    cargo.args(["-Aclippy::cargo_common_metadata", "-Aclippy::multiple_crate_versions"]);
    let output = cargo
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .stdin(Stdio::null())
        .output()
        .expect("cargo can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "clippy failed; `rustup component add clippy` installs it: {said}");
    output
}

/// The name of a lint and its whole message, from a line that cargo prints.
fn lint(line: &str) -> Option<(String, String)> {
    let message: Value = serde_json::from_str(line).ok()?;
    let message = message.get("message").filter(|message| message["level"] == "warning")?;
    let code = message["code"]["code"].as_str()?;
    Some((code.to_owned(), message["rendered"].as_str().unwrap_or(code).to_owned()))
}
