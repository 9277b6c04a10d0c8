//! The log of changes: each leaves a line that says when, who and why.

use std::fs::OpenOptions;
use std::io::IsTerminal as _;
use std::sync::Mutex;

use anyhow::Context as _;
use tracing_subscriber::filter::LevelFilter;

use crate::cli::Global;
use crate::exit::Failure;
use crate::output;

/// Writes audit lines, and the runtime's warnings, where they belong.
pub(crate) fn install(global: &Global) -> Result<(), Failure> {
    let log = tracing_subscriber::fmt().with_max_level(LevelFilter::WARN);
    if let Some(path) = &global.audit {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.with_context(|| format!("the audit log {} cannot be written", path.display()))?;
        log.with_ansi(false).with_writer(Mutex::new(file)).init();
    } else {
        let colours = output::may_colour(std::io::stderr().is_terminal());
        log.with_ansi(colours).with_writer(std::io::stderr).init();
    }
    Ok(())
}
