//! Running other programs, so that a failure names the command that failed.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, bail};

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(workspace());
    command
}

/// The root of this workspace.
pub(crate) fn workspace() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

/// Runs a command in sight of the user.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("could not run `{}`", words(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", words(command));
    }
    Ok(())
}

/// Runs a command out of sight, and gives what it printed.
pub(crate) fn read(command: &mut Command) -> anyhow::Result<String> {
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().with_context(|| format!("could not run `{}`", words(command)))?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        bail!("`{}` failed: {status}\n{}", words(command), said.trim_end());
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

/// Whether a command can be run and succeeds.
pub(crate) fn works(program: &str, arguments: &[&str]) -> bool {
    read(Command::new(program).args(arguments)).is_ok()
}

fn words(command: &Command) -> String {
    let mut words = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        words.push(' ');
        words.push_str(&argument.to_string_lossy());
    }
    words
}
