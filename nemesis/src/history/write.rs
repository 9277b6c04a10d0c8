//! Writing it down.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use rustix::time::{ClockId, clock_gettime};

use super::Moment;
use super::event::Event;

/// This moment.
pub(crate) fn now() -> Moment {
    let time = clock_gettime(ClockId::Monotonic);
    let micros = time.tv_sec * 1_000_000 + time.tv_nsec / 1000;
    u64::try_from(micros).expect("the clock counts up from the start of the machine")
}

/// The file of one process.
#[derive(Debug)]
pub(crate) struct Log(Mutex<File>);

impl Log {
    /// Begins a file for a process.
    pub(crate) fn begin(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(format!("{name}.jsonl"));
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        Ok(Self(Mutex::new(file.with_context(|| format!("could not begin {}", path.display()))?)))
    }

    /// Writes down what happens now. A history that cannot be written is worth nothing: the process ends.
    pub(crate) fn write(&self, event: &Event) {
        // Under the lock: events of one file are in the order of their moments.
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        put(&mut file, now(), event);
    }

    /// Writes down what happened then.
    pub(crate) fn write_at(&self, at: Moment, event: &Event) {
        put(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), at, event);
    }
}

fn put(file: &mut File, at: Moment, event: &Event) {
    let mut line = serde_json::to_vec(&(at, event)).expect("an event is JSON");
    line.push(b'\n');
    file.write_all(&line).expect("the history can be written");
}
