//! Reading all files of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::Moment;
use super::event::Event;

/// The name of the file that the one who does the harm writes.
pub(crate) const NEMESIS: &str = "nemesis";

/// An event, and when it happened.
pub(crate) type Entry = (Moment, Event);

/// All files of a run.
#[derive(Debug, Default)]
pub(crate) struct Histories {
    /// By the one who does the harm.
    pub(crate) nemesis: Vec<Entry>,
    /// By each process of consumers.
    pub(crate) processes: BTreeMap<u32, Vec<Entry>>,
}

/// Reads every file in a folder.
pub(crate) fn read(folder: &Path) -> Result<Histories> {
    let mut histories = Histories::default();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let entries = entries(&path).with_context(|| path.display().to_string())?;
        if path.file_stem().is_some_and(|name| name == NEMESIS) {
            histories.nemesis = entries;
            continue;
        }
        match entries.first() {
            Some(&(_, Event::Process(process))) => {
                let twice = histories.processes.insert(process, entries);
                ensure!(twice.is_none(), "process {process} has two files");
            }
            // It was killed before it could say who it was.
            None => {}
            Some(_) => anyhow::bail!("{} does not say which process wrote it", path.display()),
        }
    }
    Ok(histories)
}

fn entries(path: &Path) -> Result<Vec<Entry>> {
    let bytes = fs::read(path)?;
    // The last line of a process that was killed may be cut off.
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).with_context(|| String::from_utf8_lossy(line).into_owned())).collect()
}
