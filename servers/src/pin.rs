use std::process::{Command, Stdio};

use crate::Error;
use crate::program::tool;

/// Keeps all threads of a process on one processor core, so that two programs that are measured
/// together do not take turns on one.
///
/// A benchmark pins itself with `pin(std::process::id(), 1)`.
///
/// # Errors
///
/// [`Error::MissingTool`] where there is no `taskset` (macOS), [`Error::Refused`] where there is no
/// such core or no such process.
pub fn pin(pid: u32, core: usize) -> Result<(), Error> {
    let output = Command::new(tool("taskset")?)
        .args(["--all-tasks", "--cpu-list", "--pid", &core.to_string(), &pid.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(Error::while_doing("run taskset"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(Error::Refused(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}
