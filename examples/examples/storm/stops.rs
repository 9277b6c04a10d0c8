//! Which processes stand still, or have.

use std::collections::HashMap;

/// How often a process has been stopped and resumed so far.
pub(crate) type Moment = u32;

#[derive(Debug, Default)]
pub(crate) struct Stops(HashMap<u32, Moment>);

impl Stops {
    /// The process is going to be stopped.
    pub(crate) fn stop(&mut self, process: u32) {
        *self.0.entry(process).or_default() += 1;
    }

    /// The process is going to be resumed.
    pub(crate) fn resume(&mut self, process: u32) {
        *self.0.entry(process).or_default() += 1;
    }

    pub(crate) fn moment(&self, process: u32) -> Moment {
        self.0.get(&process).copied().unwrap_or_default()
    }

    /// Whether the process stands still now, or has since that moment.
    pub(crate) fn stood_still(&self, process: u32, since: Moment) -> bool {
        let now = self.moment(process);
        now != since || now % 2 == 1
    }
}
