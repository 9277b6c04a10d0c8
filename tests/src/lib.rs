//! Integration tests.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The program of an example, built as this test was: with the whole workspace and all features, as `cargo xtask test` has
/// done already, so that there is nothing left to build.
///
/// # Panics
///
/// Where the examples do not build.
pub fn example(name: &str) -> PathBuf {
    static EXAMPLES: OnceLock<PathBuf> = OnceLock::new();
    EXAMPLES.get_or_init(build_examples).join(name)
}

fn build_examples() -> PathBuf {
    let this_test = env::current_exe().expect("the test's own file");
    // target / profile / deps / this test
    let profile = this_test.ancestors().nth(2).expect("a folder for the profile");
    let target = profile.parent().expect("a target folder");
    let profile_name = match profile.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--locked", "--workspace", "--all-features", "--examples"])
        .args(["--profile", profile_name, "--target-dir"])
        .arg(target)
        .current_dir(workspace)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the examples do not build");
    profile.join("examples")
}

/// A handler of a library, for tests of what the programs know that are linked with it.
///
/// # Errors
///
/// The runtime's own.
#[idempotent_runtime::idempotent(prefix = "tests:archived", keys = [order], ttl = 24h)]
pub async fn archived(order: u64) -> Result<u64, idempotent_runtime::Error> {
    Ok(order)
}
