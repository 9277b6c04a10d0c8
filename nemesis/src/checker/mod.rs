//! Checks a history, and knows nothing of how it came about.
//!
//! - `facts`: what it says, put in order
//! - `lost`: which acknowledged writes the store has lost
//! - `rules`: what must hold

mod facts;
mod lost;
mod rules;
#[cfg(test)]
mod tests;

use self::facts::Facts;
use self::lost::Lost;
use crate::history::Histories;

/// What a history comes to.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) calls: usize,
    pub(crate) runs: usize,
    /// Runs that went on where another run of their key was live, in a process that stood still or had.
    pub(crate) overlapping_stopped: usize,
    /// Effects without a fence of runs that had stood still.
    pub(crate) unfenced_after_stop: usize,
    /// Effects with a fence that the sink took, and those that it refused.
    pub(crate) effects: (usize, usize),
    pub(crate) lost_writes: usize,
    pub(crate) worst_call_ms: u64,
    pub(crate) violations: Vec<String>,
}

pub(crate) fn check(histories: &Histories) -> Checked {
    let facts = Facts::of(histories);
    let lost = Lost::find(&facts);
    let mut violations = Vec::new();
    let mut complain = |complaint| violations.push(complaint);
    let effects = rules::fences(&facts, &mut complain);
    rules::completed_keys_rest(&facts, &lost, &mut complain);
    let overlapping_stopped = rules::runs_do_not_overlap(&facts, &lost, &mut complain);
    rules::all_is_completed(&facts, &lost, &mut complain);
    let worst = rules::calls_end_in_time(&facts, &mut complain);
    // A completion that both its writer and a duplicate heard of.
    violations.dedup();
    Checked {
        calls: facts.calls.len(),
        runs: facts.runs.len(),
        overlapping_stopped,
        unfenced_after_stop: rules::unfenced_after_stop(&facts),
        effects: (effects.accepted, effects.refused),
        lost_writes: lost.count(),
        worst_call_ms: worst / 1000,
        violations,
    }
}
