//! Processes that stand still.

use anyhow::Result;

/// Has a process of ours stand still where it is (SIGSTOP).
///
/// # Errors
///
/// Where it has ended, and on systems that have no such signal.
pub fn stop(process: u32) -> Result<()> {
    send(process, Signal::Stop)
}

/// Has a stopped process go on (SIGCONT).
///
/// # Errors
///
/// As [`stop`].
pub fn resume(process: u32) -> Result<()> {
    send(process, Signal::Resume)
}

#[derive(Clone, Copy, Debug)]
enum Signal {
    Stop,
    Resume,
}

#[cfg(unix)]
fn send(process: u32, signal: Signal) -> Result<()> {
    use anyhow::Context as _;
    use rustix::process::{Pid, Signal as Unix, kill_process};

    let process = i32::try_from(process).ok().and_then(Pid::from_raw).context("no process has this id")?;
    let signal = match signal {
        Signal::Stop => Unix::STOP,
        Signal::Resume => Unix::CONT,
    };
    kill_process(process, signal).context("a process cannot be signalled")
}

#[cfg(not(unix))]
fn send(process: u32, signal: Signal) -> Result<()> {
    anyhow::bail!("this system cannot send {signal:?} to process {process}")
}
