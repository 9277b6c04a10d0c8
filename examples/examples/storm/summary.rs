//! What a storm came to, for people and for programs.

use serde::Serialize;

use crate::ledger::{Counts, Ledger};

#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    published: usize,
    settled: usize,
    requeued: usize,
    runs: usize,
    interrupted_runs: usize,
    replayed: usize,
    busy: usize,
    orders_completed: usize,
    wrongly_dropped: usize,
    overlapping: usize,
    overlapping_stopped: usize,
    effects_accepted: usize,
    effects_refused: usize,
    accepted_below_fence: usize,
    refused_wrongly: usize,
    effects_after_stop: usize,
    stale_effects: usize,
    guard_us_mean: u64,
    guard_us_p50: u64,
    guard_us_p99: u64,
    redis_bytes_per_record: u64,
    kills: usize,
    stops: usize,
    seconds: f64,
}

impl Summary {
    pub(crate) fn new(ledger: &Ledger, harm: (usize, usize), seconds: f64, redis_bytes_per_record: u64) -> Self {
        let (kills, stops) = harm;
        let mut guard_us = ledger.guard_us.clone();
        guard_us.sort_unstable();
        let percentile = |percent: usize| {
            let last = guard_us.len().saturating_sub(1);
            guard_us.get(last * percent / 100).copied().unwrap_or_default()
        };
        let count = u64::try_from(guard_us.len()).unwrap_or(u64::MAX);
        let counts: Counts = ledger.counts;
        let checked = ledger.checked();
        Self {
            published: ledger.published(),
            settled: counts.settled,
            requeued: counts.requeued,
            runs: counts.runs,
            interrupted_runs: counts.interrupted_runs,
            replayed: counts.replayed,
            busy: counts.busy,
            orders_completed: counts.orders_completed,
            wrongly_dropped: counts.wrongly_dropped,
            overlapping: counts.overlapping,
            overlapping_stopped: counts.overlapping_stopped,
            effects_accepted: checked.accepted,
            effects_refused: checked.refused,
            accepted_below_fence: checked.accepted_below_fence,
            refused_wrongly: checked.refused_wrongly,
            effects_after_stop: counts.effects_after_stop,
            stale_effects: counts.stale_effects,
            guard_us_mean: guard_us.iter().sum::<u64>().checked_div(count).unwrap_or_default(),
            guard_us_p50: percentile(50),
            guard_us_p99: percentile(99),
            redis_bytes_per_record,
            kills,
            stops,
            seconds: (seconds * 100.0).round() / 100.0,
        }
    }

    pub(crate) fn print_table(&self) {
        let rows = [
            ("published", self.published, "every order several times, shuffled"),
            ("settled", self.settled, "acknowledged after their order was completed"),
            ("requeued", self.requeued, "sent to wait, and delivered again"),
            ("runs", self.runs, "of the handler, as the sink outside the consumers saw them"),
            (
                "interrupted_runs",
                self.interrupted_runs,
                "cut off by a kill or a loss, and taken over when their lease lapsed",
            ),
            ("replayed", self.replayed, "duplicates that got the first one's answer"),
            ("busy", self.busy, "duplicates that came in the middle of a run"),
            ("orders_completed", self.orders_completed, ""),
            ("wrongly_dropped", self.wrongly_dropped, "acknowledged although their order was not completed"),
            ("overlapping", self.overlapping, "two live runs of one order"),
            (
                "overlapping_stopped",
                self.overlapping_stopped,
                "the same, where one stood still: taken over, as it should be",
            ),
            ("effects_accepted", self.effects_accepted, "by the fenced sink"),
            ("effects_refused", self.effects_refused, "for their fence was not the highest any more"),
            ("accepted_below_fence", self.accepted_below_fence, "by mistake, says an independent check"),
            ("refused_wrongly", self.refused_wrongly, "by mistake, says an independent check"),
            ("effects_after_stop", self.effects_after_stop, "of runs that had stood still, and were not taken over"),
            ("stale_effects", self.stale_effects, "of runs that had stood still, and were taken over"),
            ("kills", self.kills, "with SIGKILL"),
            ("stops", self.stops, "with SIGSTOP, for longer than a lease"),
        ];
        println!();
        for (name, count, meaning) in rows {
            println!("  {name:<22} {count:>7}   {meaning}");
        }
        let Self { guard_us_mean: mean, guard_us_p50: p50, guard_us_p99: p99, .. } = self;
        println!("  {:<22} {mean:>7}   µs a delivery, half below {p50}, 1 in 100 above {p99}", "outside the handler");
        println!("  {:<22} {:>7}   bytes of Redis", "a record", self.redis_bytes_per_record);
        println!("  {:<22} {:>7.1}   seconds", "time", self.seconds);
    }
}
