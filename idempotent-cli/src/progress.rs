//! How far a long scan has come: on standard error, and only on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar without an end: nobody knows how many records there are. It draws nothing where nobody looks.
pub(crate) fn scanning(what: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}: {human_pos} records, {per_sec}") {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
