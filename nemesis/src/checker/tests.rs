//! The checker against histories with planted faults: one for each rule, each with a control that passes.

use std::collections::BTreeMap;

use super::{Checked, check};
use crate::desk::OF_A_KEY;
use crate::history::{Asked, Event, Held, Histories, Reply, State};

/// A history as it is told: moments are milliseconds.
#[derive(Default)]
struct Story {
    histories: Histories,
    next: u64,
}

/// Who did something, and when.
#[derive(Clone, Copy)]
struct Run {
    process: u32,
    call: u64,
    key: u64,
    value: u64,
}

const KEY: u64 = 0;

/// A token of its own for each run.
fn token(value: u64) -> String {
    format!("token-{value}")
}

fn held(value: u64, attempt: u32, state: State) -> (u64, Held) {
    (KEY, Held { token: token(value), attempt, state })
}

fn completed(value: u64, attempt: u32) -> (u64, Held) {
    held(value, attempt, State::Completed(Some(value)))
}

impl Story {
    /// One key is published.
    fn new() -> Self {
        let mut story = Self::default();
        story.nemesis(0, Event::Published { keys: 1 });
        story
    }

    fn nemesis(&mut self, at: u64, event: Event) {
        self.histories.nemesis.push((at * 1000, event));
    }

    fn process(&mut self, process: u32, at: u64, event: Event) {
        self.histories.processes.entry(process).or_default().push((at * 1000, event));
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A message to the store and its answer, ten milliseconds later.
    fn asks(&mut self, run: Run, at: u64, asked: Asked, reply: Reply) {
        let op = self.number();
        let call = Some(run.call);
        let sent = Event::Sent { op, call, key: run.key, token: token(run.value), asked };
        self.process(run.process, at, sent);
        self.process(run.process, at + 10, Event::Received { op, reply });
    }

    /// A call that acquires its key at `at`, and starts.
    fn starts(&mut self, process: u32, at: u64, message: u64, attempt: u32) -> Run {
        let (call, value) = (self.number(), self.number());
        let run = Run { process, call, key: KEY, value };
        self.process(process, at, Event::Call { call, key: KEY, message });
        self.asks(run, at, Asked::Claim, Reply::Acquired { attempt });
        self.process(process, at + 20, Event::Start { run: value, call, key: KEY, attempt, fence: Some(value) });
        run
    }

    fn effect(&mut self, run: Run, at: u64) {
        self.process(run.process, at, Event::Effect { run: run.value });
    }

    /// It returns, and its completion is acknowledged.
    fn completes(&mut self, run: Run, at: u64) {
        self.process(run.process, at, Event::End { run: run.value });
        self.asks(run, at, Asked::Complete(Some(run.value)), Reply::Held);
        self.answers(run.process, run.call, at + 20, "executed", Some(run.value));
    }

    fn answers(&mut self, process: u32, call: u64, at: u64, outcome: &str, value: Option<u64>) {
        let settles = value.is_some();
        self.process(process, at, Event::Answer { call, outcome: outcome.to_owned(), value, settles });
    }

    /// A duplicate that gets this value.
    fn replays(&mut self, at: u64, message: u64, value: u64) {
        let call = self.number();
        self.process(1, at, Event::Call { call, key: KEY, message });
        self.answers(1, call, at + 10, "replayed", Some(value));
    }

    fn dump(&mut self, at: u64, records: impl IntoIterator<Item = (u64, Held)>) {
        let records: BTreeMap<_, _> = records.into_iter().collect();
        self.nemesis(at, Event::Dump { from: 0, records });
    }

    /// A failover, from one moment to another.
    fn failover(&mut self, began: u64, over: u64) {
        self.nemesis(over, Event::Failover { began: began * 1000 });
    }

    /// All other messages are duplicates, and this is what the server holds.
    fn ends(mut self, at: u64, held: (u64, Held)) -> Checked {
        let State::Completed(Some(value)) = held.1.state else { panic!("it ends with a value") };
        for message in 1..OF_A_KEY {
            self.replays(at, message, value);
        }
        self.dump(at + 100, [held]);
        self.nemesis(at + 101, Event::Over);
        check(&self.histories)
    }
}

#[track_caller]
fn passes(checked: &Checked) {
    assert!(checked.violations.is_empty(), "{:#?}", checked.violations);
}

#[track_caller]
fn fails(checked: &Checked, with: &str) {
    assert!(checked.violations.iter().any(|complaint| complaint.contains(with)), "{with}: {:#?}", checked.violations);
}

/// One run and its duplicates.
fn simple() -> (Story, Run) {
    let mut story = Story::new();
    let run = story.starts(1, 100, 0, 1);
    story.effect(run, 150);
    story.completes(run, 200);
    (story, run)
}

#[test]
fn a_run_and_its_duplicates_leave_nothing_to_complain_of() {
    let (story, run) = simple();
    let checked = story.ends(1000, completed(run.value, 1));
    passes(&checked);
    assert_eq!((checked.calls, checked.runs, checked.lost_writes, checked.worst_call_ms), (4, 1, 0, 120));
}

#[test]
fn a_history_without_an_end_is_not_accepted() {
    let (mut story, run) = simple();
    story.dump(300, [completed(run.value, 1)]);
    fails(&check(&story.histories), "has no end");
}

#[test]
fn an_effect_that_is_accepted_below_the_highest_fence() {
    let with = |accepted| {
        let (mut story, run) = simple();
        for (fence, accepted) in [(5, true), (7, true), (5, accepted)] {
            story.nemesis(150, Event::Presented { key: KEY, run: run.value, fence: Some(fence), accepted });
        }
        story.ends(1000, completed(run.value, 1))
    };
    passes(&with(false));
    fails(&with(true), "below the highest fence");
}

#[test]
fn an_effect_that_is_refused_although_its_fence_is_the_highest() {
    let (mut story, run) = simple();
    for accepted in [true, false] {
        story.nemesis(150, Event::Presented { key: KEY, run: run.value, fence: Some(5), accepted });
    }
    fails(&story.ends(1000, completed(run.value, 1)), "theirs was the highest");
}

#[test]
fn a_completed_key_that_runs_again() {
    let with = |first_completes: bool| {
        let mut story = Story::new();
        let first = story.starts(1, 100, 0, 1);
        if first_completes {
            story.completes(first, 200);
        } else {
            story.answers(1, first.call, 200, "failed", None);
        }
        let second = story.starts(2, 5000, 0, 2);
        story.completes(second, 5100);
        story.ends(9000, completed(second.value, 2))
    };
    passes(&with(false));
    fails(&with(true), "ran again");
}

#[test]
fn a_completed_key_that_runs_again_for_its_completion_was_lost() {
    // What the promoted server holds before the second run is still in progress.
    let with = |failover: Option<(u64, u64)>| {
        let (mut story, first) = simple();
        if let Some((began, over)) = failover {
            story.failover(began, over);
        }
        story.dump(300, [held(first.value, 1, State::InProgress { renewed_ago: 200 })]);
        let second = story.starts(2, 5000, 0, 2);
        story.completes(second, 5100);
        story.ends(9000, completed(second.value, 2))
    };
    let checked = with(Some((205, 2000)));
    passes(&checked);
    assert_eq!(checked.lost_writes, 1);
    // Without a failover, or long before or after one, nothing can have been lost.
    for failover in [None, Some((10, 50)), Some((1500, 2000))] {
        fails(&with(failover), "ran again");
    }
}

#[test]
fn what_a_duplicate_was_told_counts_as_acknowledged() {
    // The one who completed it never heard; the one that had it was replaced.
    let with = |failover: bool| {
        let mut story = Story::new();
        let first = story.starts(1, 100, 0, 1);
        story.asks(first, 200, Asked::Complete(Some(first.value)), Reply::Error("no answer".to_owned()));
        story.nemesis(220, Event::Killed { process: 1 });
        let call = story.number();
        let duplicate = Run { process: 2, call, key: KEY, value: 99 };
        story.process(2, 300, Event::Call { call, key: KEY, message: 1 });
        story.asks(duplicate, 300, Asked::Claim, Reply::Completed(Some(first.value)));
        story.answers(2, call, 320, "replayed", Some(first.value));
        if failover {
            story.failover(150, 2000);
        }
        story.dump(400, [held(first.value, 1, State::InProgress { renewed_ago: 300 })]);
        let second = story.starts(2, 5000, 0, 2);
        story.completes(second, 5100);
        story.ends(9000, completed(second.value, 2))
    };
    let checked = with(true);
    passes(&checked);
    assert_eq!(checked.lost_writes, 1);
    let checked = with(false);
    fails(&checked, "ran again");
    fails(&checked, "is recorded");
}

#[test]
fn a_server_that_counts_the_first_run_has_not_lost_it() {
    // A takeover of a completed record: the server knew of it, for it counts one attempt more.
    let (mut story, _) = simple();
    story.failover(205, 2000);
    let second = story.starts(2, 5000, 0, 2);
    story.completes(second, 5100);
    let checked = story.ends(9000, completed(second.value, 2));
    fails(&checked, "ran again");
    assert_eq!(checked.lost_writes, 0);
}

/// Two runs at the same time.
fn overlap(change: impl FnOnce(&mut Story), attempt: u32) -> Checked {
    let mut story = Story::new();
    let first = story.starts(1, 100, 0, 1);
    story.effect(first, 150);
    change(&mut story);
    let second = story.starts(2, 3000, 1, attempt);
    story.effect(first, 3100);
    story.answers(1, first.call, 3150, "claim_lost", None);
    story.completes(second, 3200);
    story.replays(4000, 0, second.value);
    story.ends(9000, completed(second.value, attempt))
}

#[test]
fn two_runs_that_overlap() {
    fails(&overlap(|_| {}, 2), "overlapped");
    // One after the other is no overlap.
    let mut story = Story::new();
    let first = story.starts(1, 100, 0, 1);
    story.effect(first, 150);
    let second = story.starts(2, 3000, 0, 2);
    story.answers(1, first.call, 3150, "claim_lost", None);
    story.completes(second, 3200);
    passes(&story.ends(9000, completed(second.value, 2)));
}

#[test]
fn a_run_that_overlaps_because_it_stood_still_is_counted_apart() {
    let stops = |from, to| {
        move |story: &mut Story| {
            story.nemesis(from, Event::Stopped { process: 1 });
            story.nemesis(to, Event::Resumed { process: 1 });
        }
    };
    let checked = overlap(stops(200, 3050), 2);
    passes(&checked);
    assert_eq!(checked.overlapping_stopped, 1);
    // A stop that was over before its claim excuses nothing.
    fails(&overlap(stops(10, 50), 2), "overlapped");
}

#[test]
fn an_unfenced_effect_of_a_run_that_stood_still_is_counted_apart() {
    let with = |fence| {
        let (mut story, run) = simple();
        story.nemesis(160, Event::Stopped { process: 1 });
        story.nemesis(190, Event::Resumed { process: 1 });
        story.nemesis(195, Event::Presented { key: KEY, run: run.value, fence, accepted: true });
        story.ends(1000, completed(run.value, 1))
    };
    for (fence, count) in [(None, 1), (Some(7), 0)] {
        let checked = with(fence);
        passes(&checked);
        assert_eq!(checked.unfenced_after_stop, count);
    }
}

#[test]
fn two_runs_that_overlap_for_the_first_claim_was_lost() {
    let nothing = |story: &mut Story| {
        story.failover(200, 2000);
        story.dump(500, []);
    };
    let checked = overlap(nothing, 1);
    passes(&checked);
    assert_eq!(checked.lost_writes, 1);
    // The same, and the server had it.
    let there = |story: &mut Story| {
        story.failover(200, 2000);
        story.dump(500, [held(2, 1, State::InProgress { renewed_ago: 300 })]);
    };
    fails(&overlap(there, 2), "overlapped");
}

#[test]
fn two_runs_that_overlap_for_a_renewal_was_lost() {
    let renewed_ago = |renewed_ago| {
        move |story: &mut Story| {
            let run = Run { process: 1, call: 1, key: KEY, value: 2 };
            story.asks(run, 2000, Asked::Renew, Reply::Held);
            story.failover(2100, 2900);
            story.dump(2500, [held(2, 1, State::InProgress { renewed_ago })]);
        }
    };
    let checked = overlap(renewed_ago(2400), 2);
    passes(&checked);
    assert_eq!(checked.lost_writes, 1);
    fails(&overlap(renewed_ago(500), 2), "overlapped");
}

#[test]
fn a_completed_key_that_runs_again_at_a_server_that_was_replaced() {
    // It counts one attempt less, as the server that was replaced does; the one in charge holds the first run in the end.
    let with = |failover: bool| {
        let mut story = Story::new();
        let first = story.starts(1, 100, 0, 2);
        story.completes(first, 200);
        if failover {
            story.failover(90, 3000);
        }
        let second = story.starts(2, 1000, 1, 1);
        story.completes(second, 1100);
        story.ends(4000, completed(first.value, 2))
    };
    let checked = with(true);
    passes(&checked);
    assert_eq!(checked.lost_writes, 2, "a claim and a completion");
    // Nobody was replaced: there is only the one server, and it has taken both.
    let checked = with(false);
    fails(&checked, "ran again");
    assert_eq!(checked.lost_writes, 0);
}

#[test]
fn a_claim_that_was_put_back_is_not_lost() {
    let mut story = Story::new();
    let (call, value) = (story.number(), story.number());
    let given_up = Run { process: 1, call, key: KEY, value };
    story.process(1, 50, Event::Call { call, key: KEY, message: 0 });
    story.asks(given_up, 50, Asked::Claim, Reply::Acquired { attempt: 1 });
    story.asks(given_up, 70, Asked::PutBack, Reply::Held);
    story.answers(1, call, 90, "dropped", None);
    story.failover(80, 99);
    story.dump(95, []);
    let run = story.starts(1, 100, 0, 1);
    story.completes(run, 200);
    let checked = story.ends(1000, completed(run.value, 1));
    passes(&checked);
    assert_eq!(checked.lost_writes, 0);
}

#[test]
fn a_key_that_is_not_completed_in_the_end() {
    let (mut story, run) = simple();
    for message in 1..OF_A_KEY {
        story.replays(300, message, run.value);
    }
    story.dump(400, [held(run.value, 1, State::Failed)]);
    story.nemesis(500, Event::Over);
    fails(&check(&story.histories), "not completed in the end");
}

#[test]
fn a_message_that_is_never_settled() {
    let (mut story, run) = simple();
    story.nemesis(1, Event::Published { keys: 1 });
    for message in 1..OF_A_KEY - 1 {
        story.replays(300, message, run.value);
    }
    story.dump(400, [completed(run.value, 1)]);
    story.nemesis(500, Event::Over);
    fails(&check(&story.histories), "message 3 was never settled");
}

#[test]
fn a_duplicate_that_gets_another_value_than_the_recorded_one() {
    let with = |value: fn(u64) -> u64| {
        let (mut story, run) = simple();
        story.replays(300, 0, value(run.value));
        story.ends(1000, completed(run.value, 1))
    };
    passes(&with(|value| value));
    fails(&with(|value| value + 1), "is recorded");
}

#[test]
fn a_message_that_is_put_aside() {
    let (mut story, run) = simple();
    let call = story.number();
    story.process(1, 300, Event::Call { call, key: KEY, message: 1 });
    story.answers(1, call, 310, "indeterminate", None);
    fails(&story.ends(1000, completed(run.value, 1)), "came to `indeterminate`");
}

#[test]
fn a_call_that_outlives_its_time_out() {
    let with = |stopped: bool| {
        let (mut story, run) = simple();
        let call = story.number();
        story.process(1, 300, Event::Call { call, key: KEY, message: 1 });
        if stopped {
            story.nemesis(400, Event::Stopped { process: 1 });
            story.nemesis(59_000, Event::Resumed { process: 1 });
        }
        story.answers(1, call, 60_000, "busy", None);
        story.ends(61_000, completed(run.value, 1))
    };
    fails(&with(false), "took 59700 ms");
    let checked = with(true);
    passes(&checked);
    assert_eq!(checked.worst_call_ms, 120, "one that stood still does not count");
}

#[test]
fn a_call_that_never_ends() {
    let with = |killed: bool| {
        let (mut story, run) = simple();
        let call = story.number();
        story.process(2, 300, Event::Call { call, key: KEY, message: 1 });
        if killed {
            story.nemesis(400, Event::Killed { process: 2 });
        }
        story.ends(1000, completed(run.value, 1))
    };
    passes(&with(true));
    fails(&with(false), "never ended");
}
