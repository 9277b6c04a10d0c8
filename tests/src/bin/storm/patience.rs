//! Waiting for what has to come.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;

/// How long a round may take. Beyond it something stands still.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) -> anyhow::Result<()> {
    let started = Instant::now();
    while !is_so() {
        ensure!(started.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
