//! The ledger: what consumers have told, added up, and what must hold of it.

use std::collections::HashMap;

use examples::fence::{Answer, Checked, Fences, check};
use serde::{Deserialize, Serialize};

use crate::stops::{Moment, Stops};

/// What a consumer tells the sink. Each is answered before the consumer goes on.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The first one: who speaks.
    Hello { process: u32 },
    /// An effect: a run of the handler starts.
    Start { order: usize, fence: u64 },
    /// An effect: the run is at its end.
    End { order: usize, fence: u64 },
    /// A delivery's outcome is known, and is going to be carried out.
    Delivery { message: usize, order: usize, outcome: String, verdict: Verdict, guard_us: u64 },
}

impl Report {
    pub(crate) fn is_effect(&self) -> bool {
        matches!(self, Self::Start { .. } | Self::End { .. })
    }
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
    heard_at: Moment,
    run: Option<Run>,
}

/// A run that has started, and whose delivery has not been told of yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    order: usize,
    process: u32,
    /// When the consumer was last heard of before the run: its claim is not older than that.
    since: Moment,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    copies: usize,
    orders: Vec<Order>,
    settled: Vec<bool>,
    live_runs: HashMap<u32, usize>,
    fences: Fences,
    pub(crate) stops: Stops,
    pub(crate) counts: Counts,
    pub(crate) guard_us: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
struct Order {
    live: Vec<Run>,
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
    /// Runs that started while another of their order was live, in a process that had not stood still.
    pub(crate) overlapping: usize,
    /// The same, in a process that stood still or had.
    pub(crate) overlapping_stopped: usize,
    /// Effects of a process that had stood still, accepted: nobody had taken over.
    pub(crate) effects_after_stop: usize,
    /// Effects of a process that had stood still, refused: another run had taken over.
    pub(crate) stale_effects: usize,
}

impl Ledger {
    pub(crate) fn new(copies: usize) -> Self {
        Self {
            copies,
            orders: Vec::new(),
            settled: Vec::new(),
            live_runs: HashMap::new(),
            fences: Fences::default(),
            stops: Stops::default(),
            counts: Counts::default(),
            guard_us: Vec::new(),
        }
    }

    /// Enters so many orders more, and gives the messages for them: all copies of each.
    pub(crate) fn publish(&mut self, orders: usize) -> std::ops::Range<usize> {
        let first = self.settled.len();
        self.orders.resize(self.orders.len() + orders, Order::default());
        self.settled.resize(self.orders.len() * self.copies, false);
        first..self.settled.len()
    }

    pub(crate) fn hear(&mut self, speaker: &mut Speaker, report: Report) -> Answer {
        let answer = match report {
            Report::Hello { process } => {
                speaker.process = process;
                Answer::Accepted
            }
            Report::Start { order, fence } => self.start(speaker, order, fence),
            Report::End { order, fence } => self.end(speaker, order, fence),
            Report::Delivery { message, order, outcome, verdict, guard_us } => {
                let recorded = outcome == "executed";
                self.counts.interrupted_runs += usize::from(self.close(speaker).is_some() && !recorded);
                self.guard_us.push(guard_us);
                self.counts.replayed += usize::from(outcome == "replayed");
                self.counts.busy += usize::from(outcome == "busy");
                self.carry_out(message, order, verdict);
                Answer::Accepted
            }
        };
        speaker.heard_at = self.stops.moment(speaker.process);
        answer
    }

    fn start(&mut self, speaker: &mut Speaker, order: usize, fence: u64) -> Answer {
        let run = Run { order, process: speaker.process, since: speaker.heard_at };
        self.counts.runs += 1;
        let answer = self.present(run, fence);
        // A run whose first effect is refused has been overtaken: the other is no overlap of its making.
        if answer == Answer::Accepted {
            for other in &self.orders[order].live {
                let stopped = [run, *other].iter().any(|run| self.stops.stood_still(run.process, run.since));
                let count = if stopped { &mut self.counts.overlapping_stopped } else { &mut self.counts.overlapping };
                *count += 1;
            }
        }
        self.orders[order].live.push(run);
        *self.live_runs.entry(run.process).or_default() += 1;
        speaker.run = Some(run);
        answer
    }

    fn end(&mut self, speaker: &Speaker, order: usize, fence: u64) -> Answer {
        let since = speaker.run.map_or(speaker.heard_at, |run| run.since);
        let answer = self.present(Run { order, process: speaker.process, since }, fence);
        if answer == Answer::Accepted {
            let first = !std::mem::replace(&mut self.orders[order].completed, true);
            self.counts.orders_completed += usize::from(first);
        }
        answer
    }

    /// Presents an effect of a run to the sink.
    fn present(&mut self, run: Run, fence: u64) -> Answer {
        let answer = self.fences.present(run.order, fence);
        if self.stops.stood_still(run.process, run.since) {
            match answer {
                Answer::Accepted => self.counts.effects_after_stop += 1,
                Answer::Refused => self.counts.stale_effects += 1,
            }
        }
        answer
    }

    fn carry_out(&mut self, message: usize, order: usize, verdict: Verdict) {
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

    /// The consumer has gone. A run of which no delivery was told was cut off: in the middle, or with its effect made
    /// and its record perhaps not.
    pub(crate) fn hang_up(&mut self, speaker: &mut Speaker) {
        self.counts.interrupted_runs += usize::from(self.close(speaker).is_some());
    }

    fn close(&mut self, speaker: &mut Speaker) -> Option<Run> {
        let run = speaker.run.take()?;
        let live = &mut self.orders[run.order].live;
        // Equal runs, of two consumers of one process, need not be told apart.
        if let Some(at) = live.iter().position(|other| *other == run) {
            live.swap_remove(at);
        }
        self.live_runs.entry(speaker.process).and_modify(|runs| *runs -= 1);
        Some(run)
    }

    pub(crate) fn live_runs(&self, process: u32) -> usize {
        self.live_runs.get(&process).copied().unwrap_or_default()
    }

    pub(crate) fn orders(&self) -> usize {
        self.orders.len()
    }

    pub(crate) fn published(&self) -> usize {
        self.settled.len()
    }

    /// What the sink did, by an independent check of its history.
    pub(crate) fn checked(&self) -> Checked {
        check(self.fences.history())
    }

    /// What is missing, and what must not be.
    pub(crate) fn violations(&self) -> Vec<String> {
        let Counts { settled, runs, interrupted_runs, orders_completed, .. } = self.counts;
        let (orders, published, checked) = (self.orders(), self.published(), self.checked());
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
            (checked.accepted_below_fence, "effects were accepted below the highest fence of their order"),
            (checked.refused_wrongly, "effects were refused although theirs was the highest fence of their order"),
            (
                checked.refused - self.counts.stale_effects,
                "effects came too late from processes that never stood still",
            ),
        ] {
            demand(count == 0, format!("{count} {what}"));
        }
        violations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(copies: usize) -> Ledger {
        let mut ledger = Ledger::new(copies);
        assert_eq!(ledger.publish(1), 0..copies);
        ledger
    }

    fn speaker(ledger: &mut Ledger, process: u32) -> Speaker {
        let mut speaker = Speaker::default();
        ledger.hear(&mut speaker, Report::Hello { process });
        speaker
    }

    fn start(fence: u64) -> Report {
        Report::Start { order: 0, fence }
    }

    fn end(fence: u64) -> Report {
        Report::End { order: 0, fence }
    }

    fn told(message: usize, outcome: &str, verdict: Verdict) -> Report {
        Report::Delivery { message, order: 0, outcome: outcome.to_owned(), verdict, guard_us: 1 }
    }

    fn settled(message: usize) -> Report {
        told(message, "executed", Verdict::Settle)
    }

    #[test]
    fn a_run_and_its_duplicate_leave_nothing_to_complain_of() {
        let mut ledger = ledger(2);
        let mut speaker = speaker(&mut ledger, 1);
        assert_eq!(ledger.violations().len(), 2, "nothing has happened yet");
        for report in [start(1), end(1), settled(0), settled(1)] {
            assert_eq!(ledger.hear(&mut speaker, report), Answer::Accepted);
        }
        assert!(ledger.violations().is_empty(), "{:?}", ledger.violations());
    }

    #[test]
    fn two_live_runs_and_a_message_that_is_dropped_early_are_found() {
        let mut ledger = ledger(1);
        let (mut one, mut other) = (speaker(&mut ledger, 1), speaker(&mut ledger, 2));
        ledger.hear(&mut one, start(1));
        ledger.hear(&mut other, start(2));
        ledger.hear(&mut other, settled(0));
        assert_eq!((ledger.counts.overlapping, ledger.counts.wrongly_dropped), (1, 1));
    }

    #[test]
    fn a_killed_run_is_interrupted_and_does_not_overlap_the_next() {
        let mut ledger = ledger(1);
        let (mut killed, mut next) = (speaker(&mut ledger, 1), speaker(&mut ledger, 2));
        ledger.hear(&mut killed, start(1));
        ledger.hang_up(&mut killed);
        for report in [start(2), end(2), settled(0)] {
            ledger.hear(&mut next, report);
        }
        assert_eq!((ledger.counts.runs, ledger.counts.interrupted_runs), (2, 1));
        assert!(ledger.violations().is_empty(), "{:?}", ledger.violations());
    }

    /// A process stands still in the middle of a run, another takes over, and it goes on.
    fn overtaken(ledger: &mut Ledger) -> Speaker {
        let (mut stopped, mut next) = (speaker(ledger, 1), speaker(ledger, 2));
        ledger.hear(&mut stopped, start(1));
        ledger.stops.stop(1);
        for report in [start(2), end(2), settled(0)] {
            ledger.hear(&mut next, report);
        }
        ledger.stops.resume(1);
        stopped
    }

    #[test]
    fn a_run_that_stood_still_and_was_overtaken_is_counted_apart_and_refused() {
        let mut ledger = ledger(1);
        let mut stopped = overtaken(&mut ledger);
        assert_eq!(ledger.hear(&mut stopped, end(1)), Answer::Refused);
        ledger.hear(&mut stopped, told(0, "claim_lost", Verdict::Requeue));
        let Counts { overlapping, overlapping_stopped, stale_effects, interrupted_runs, .. } = ledger.counts;
        assert_eq!((overlapping, overlapping_stopped, stale_effects, interrupted_runs), (0, 1, 1, 1));
        assert!(ledger.violations().is_empty(), "{:?}", ledger.violations());
    }

    #[test]
    fn a_claim_from_before_a_stop_is_known_by_what_its_consumer_said_last() {
        let mut ledger = ledger(1);
        let (mut stopped, mut next) = (speaker(&mut ledger, 1), speaker(&mut ledger, 2));
        ledger.stops.stop(1);
        ledger.stops.resume(1);
        ledger.hear(&mut stopped, start(1));
        ledger.hear(&mut next, start(2));
        assert_eq!((ledger.counts.overlapping, ledger.counts.overlapping_stopped), (0, 1));
        assert_eq!(ledger.counts.effects_after_stop, 1);
    }

    #[test]
    fn a_stop_that_is_long_over_excuses_nothing() {
        let mut ledger = ledger(1);
        let (mut resumed, mut next) = (speaker(&mut ledger, 1), speaker(&mut ledger, 2));
        ledger.stops.stop(1);
        ledger.stops.resume(1);
        ledger.hear(&mut resumed, told(0, "busy", Verdict::Requeue));
        ledger.hear(&mut resumed, start(1));
        ledger.hear(&mut next, start(2));
        assert_eq!((ledger.counts.overlapping, ledger.counts.overlapping_stopped), (1, 0));
        assert_eq!(ledger.hear(&mut resumed, end(1)), Answer::Refused);
        let complaints = ledger.violations();
        assert!(complaints.iter().any(|complaint| complaint.contains("never stood still")), "{complaints:?}");
    }

    #[test]
    fn a_second_run_that_nothing_explains_is_found() {
        let mut ledger = ledger(2);
        let mut speaker = speaker(&mut ledger, 1);
        for report in [start(1), end(1), settled(0), start(2), end(2), settled(1)] {
            ledger.hear(&mut speaker, report);
        }
        let complaints = ledger.violations();
        assert!(complaints.iter().any(|complaint| complaint.contains("2 runs for 1 orders")), "{complaints:?}");
    }
}
