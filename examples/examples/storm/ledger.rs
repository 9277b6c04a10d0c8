//! The ledger: what consumers have told, added up, and what must hold of it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// What a consumer tells the sink. Each is answered before the consumer goes on.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The first one: who speaks.
    Hello { process: u32 },
    /// A run of the handler starts.
    Start { order: usize },
    /// The run is at its end: its effect has happened.
    End { order: usize },
    /// A delivery's outcome is known, and is going to be carried out.
    Delivery { message: usize, order: usize, outcome: String, verdict: Verdict, guard_us: u64 },
}

/// What becomes of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    Settle,
    Requeue,
    PutAside,
}

/// What is known of one consumer: it handles one delivery at a time.
#[derive(Debug, Default)]
pub(crate) struct Speaker {
    process: u32,
    run: Option<Run>,
}

/// A run that has started, and whose delivery has not been told of yet.
#[derive(Clone, Copy, Debug)]
struct Run {
    order: usize,
    ended: bool,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    orders: Vec<Order>,
    settled: Vec<bool>,
    live_runs: HashMap<u32, usize>,
    pub(crate) counts: Counts,
    pub(crate) guard_us: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
struct Order {
    live: usize,
    completed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) settled: usize,
    pub(crate) requeued: usize,
    pub(crate) dead_lettered: usize,
    pub(crate) runs: usize,
    pub(crate) interrupted_runs: usize,
    pub(crate) replayed: usize,
    pub(crate) busy: usize,
    pub(crate) orders_completed: usize,
    pub(crate) wrongly_dropped: usize,
    pub(crate) overlapping: usize,
}

impl Ledger {
    pub(crate) fn new(orders: usize, copies: usize) -> Self {
        Self {
            orders: vec![Order::default(); orders],
            settled: vec![false; orders * copies],
            live_runs: HashMap::new(),
            counts: Counts::default(),
            guard_us: Vec::with_capacity(orders * copies),
        }
    }

    pub(crate) fn hear(&mut self, speaker: &mut Speaker, report: Report) {
        match report {
            Report::Hello { process } => speaker.process = process,
            Report::Start { order } => {
                self.counts.runs += 1;
                self.counts.overlapping += usize::from(self.orders[order].live > 0);
                self.orders[order].live += 1;
                *self.live_runs.entry(speaker.process).or_default() += 1;
                speaker.run = Some(Run { order, ended: false });
            }
            Report::End { order } => {
                if let Some(run) = &mut speaker.run {
                    run.ended = true;
                }
                let first = !std::mem::replace(&mut self.orders[order].completed, true);
                self.counts.orders_completed += usize::from(first);
            }
            Report::Delivery { message, order, outcome, verdict, guard_us } => {
                // A handler that was cancelled has started and not ended.
                if let Some(run) = self.close(speaker) {
                    self.counts.interrupted_runs += usize::from(!run.ended);
                }
                self.guard_us.push(guard_us);
                self.counts.replayed += usize::from(outcome == "replayed");
                self.counts.busy += usize::from(outcome == "busy");
                match verdict {
                    Verdict::Requeue => self.counts.requeued += 1,
                    Verdict::PutAside => self.counts.dead_lettered += 1,
                    Verdict::Settle => {
                        self.counts.wrongly_dropped += usize::from(!self.orders[order].completed);
                        // After a kill a message may come again: its acknowledgement was never sent.
                        let first = !std::mem::replace(&mut self.settled[message], true);
                        self.counts.settled += usize::from(first);
                    }
                }
            }
        }
    }

    /// The consumer has gone. A run of which no delivery was told was cut off: in the middle, or with its effect made
    /// and its record perhaps not.
    pub(crate) fn hang_up(&mut self, speaker: &mut Speaker) {
        self.counts.interrupted_runs += usize::from(self.close(speaker).is_some());
    }

    fn close(&mut self, speaker: &mut Speaker) -> Option<Run> {
        let run = speaker.run.take()?;
        self.orders[run.order].live -= 1;
        self.live_runs.entry(speaker.process).and_modify(|runs| *runs -= 1);
        Some(run)
    }

    pub(crate) fn live_runs(&self, process: u32) -> usize {
        self.live_runs.get(&process).copied().unwrap_or_default()
    }

    pub(crate) fn published(&self) -> usize {
        self.settled.len()
    }

    /// What is missing, and what must not be.
    pub(crate) fn violations(&self) -> Vec<String> {
        let Counts { settled, runs, interrupted_runs, orders_completed, .. } = self.counts;
        let (orders, published) = (self.orders.len(), self.published());
        let mut violations = Vec::new();
        let mut demand = |holds: bool, otherwise: String| {
            if !holds {
                violations.push(otherwise);
            }
        };
        demand(settled == published, format!("{} of {published} messages are not settled", published - settled));
        demand(
            orders_completed == orders,
            format!("{} of {orders} orders are not completed", orders - orders_completed),
        );
        demand(
            runs <= orders + interrupted_runs,
            format!("{runs} runs for {orders} orders, although only {interrupted_runs} were interrupted"),
        );
        for (count, what) in [
            (self.counts.dead_lettered, "messages were put aside"),
            (self.counts.wrongly_dropped, "messages were settled before their order was completed"),
            (self.counts.overlapping, "runs started while another run of their order was live"),
        ] {
            demand(count == 0, format!("{count} {what}"));
        }
        violations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(message: usize, order: usize) -> Report {
        Report::Delivery { message, order, outcome: "executed".to_owned(), verdict: Verdict::Settle, guard_us: 1 }
    }

    #[test]
    fn a_run_and_its_duplicate_leave_nothing_to_complain_of() {
        let (mut ledger, mut speaker) = (Ledger::new(1, 2), Speaker::default());
        assert_eq!(ledger.violations().len(), 2, "nothing has happened yet");
        for report in [Report::Start { order: 0 }, Report::End { order: 0 }, settled(0, 0), settled(1, 0)] {
            ledger.hear(&mut speaker, report);
        }
        assert!(ledger.violations().is_empty(), "{:?}", ledger.violations());
    }

    #[test]
    fn two_live_runs_and_a_message_that_is_dropped_early_are_found() {
        let (mut ledger, mut one, mut other) = (Ledger::new(1, 1), Speaker::default(), Speaker::default());
        ledger.hear(&mut one, Report::Start { order: 0 });
        ledger.hear(&mut other, Report::Start { order: 0 });
        ledger.hear(&mut other, settled(0, 0));
        assert_eq!((ledger.counts.overlapping, ledger.counts.wrongly_dropped), (1, 1));
    }

    #[test]
    fn a_killed_run_is_interrupted_and_does_not_overlap_the_next() {
        let (mut ledger, mut killed, mut next) = (Ledger::new(1, 1), Speaker::default(), Speaker::default());
        ledger.hear(&mut killed, Report::Start { order: 0 });
        ledger.hang_up(&mut killed);
        for report in [Report::Start { order: 0 }, Report::End { order: 0 }, settled(0, 0)] {
            ledger.hear(&mut next, report);
        }
        assert_eq!((ledger.counts.runs, ledger.counts.interrupted_runs), (2, 1));
        assert!(ledger.violations().is_empty(), "{:?}", ledger.violations());
    }
}
