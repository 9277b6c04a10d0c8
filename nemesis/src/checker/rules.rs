//! What must hold of every history.

use std::collections::{HashMap, HashSet};

use examples::fence;

use super::facts::{self, Answer, Call, Facts, Kind, Run, Write};
use super::lost::Lost;
use crate::desk::OF_A_KEY;
use crate::history::State;
use crate::work::Work;

/// What a call may come to; a message is put aside by none of them.
const OUTCOMES: [&str; 9] =
    ["executed", "replayed", "failed", "busy", "store_unavailable", "claim_lost", "timed_out", "lost", "dropped"];

/// 1. No effect is accepted below the highest fence of its key; none is refused without a reason.
pub(super) fn fences(facts: &Facts, complain: &mut impl FnMut(String)) -> fence::Checked {
    let presented = |effect: &facts::Presented| {
        let order = usize::try_from(effect.key).expect("as many keys as were published");
        let answer = if effect.accepted { fence::Answer::Accepted } else { fence::Answer::Refused };
        Some(fence::Presented { order, fence: effect.fence?, answer })
    };
    let checked = fence::check(&facts.presented.iter().filter_map(presented).collect::<Vec<_>>());
    if checked.accepted_below_fence > 0 {
        complain(format!(
            "{} effects were accepted below the highest fence of their key",
            checked.accepted_below_fence
        ));
    }
    if checked.refused_wrongly > 0 {
        complain(format!("{} effects were refused although theirs was the highest fence", checked.refused_wrongly));
    }
    checked
}

/// Effects without a fence of runs whose process had stood still since their claim: a sink that asks for no fence takes
/// them, whoever has taken over. They are counted apart.
pub(super) fn unfenced_after_stop(facts: &Facts) -> usize {
    let runs: HashMap<u64, &Run> = facts.runs.iter().map(|run| (run.number, run)).collect();
    let after_stop = |effect: &&facts::Presented| {
        let run = runs.get(&effect.run);
        effect.fence.is_none() && run.is_some_and(|run| facts.stood_still(run.process, run.claimed, effect.at))
    };
    facts.presented.iter().filter(after_stop).count()
}

/// 2a. No completed key runs again, unless the store has lost the completion.
pub(super) fn completed_keys_rest(facts: &Facts, lost: &Lost, complain: &mut impl FnMut(String)) {
    let mut completions: HashMap<u64, Vec<&Write>> = HashMap::new();
    for write in facts.writes.iter().filter(|write| write.kind == Kind::Completion) {
        completions.entry(write.key).or_default().push(write);
    }
    for run in &facts.runs {
        for completion in completions.get(&run.key).into_iter().flatten() {
            let later = run.claimed > completion.acknowledged || run.attempt > completion.attempt;
            let excused = lost.has(&completion.token) || lost.has(&run.token);
            if completion.token != run.token && later && !excused {
                complain(format!(
                    "key {} ran again (run {}, attempt {}) after {} had completed it in attempt {}",
                    run.key, run.number, run.attempt, completion.token, completion.attempt
                ));
            }
        }
    }
}

/// 2b. No two runs of a key overlap of which neither stood still, unless the store has lost a claim. How many overlapped
/// where one stood still.
pub(super) fn runs_do_not_overlap(facts: &Facts, lost: &Lost, complain: &mut impl FnMut(String)) -> usize {
    let mut runs: HashMap<u64, Vec<&Run>> = HashMap::new();
    for run in &facts.runs {
        runs.entry(run.key).or_default().push(run);
    }
    let stood_still = |run: &Run| facts.stood_still(run.process, run.claimed, run.last);
    let mut stopped = 0;
    for runs in runs.values() {
        for (at, one) in runs.iter().enumerate() {
            for other in &runs[at + 1..] {
                if one.started > other.last || other.started > one.last {
                    continue;
                }
                if stood_still(one) || stood_still(other) {
                    stopped += 1;
                } else if !lost.has(&one.token) && !lost.has(&other.token) {
                    complain(format!("runs {} and {} of key {} overlapped", one.number, other.number, one.key));
                }
            }
        }
    }
    stopped
}

/// 3. Every key is completed in the end, every message is settled, every duplicate got the recorded value.
pub(super) fn all_is_completed(facts: &Facts, lost: &Lost, complain: &mut impl FnMut(String)) {
    let Some(end) = facts.dumps.last().filter(|dump| dump.from == 0 && facts.over) else {
        return complain("the history has no end".to_owned());
    };
    let mut recorded = HashMap::new();
    for key in 0..facts.keys {
        match end.records.get(&key).map(|held| held.state) {
            Some(State::Completed(Some(value))) => drop(recorded.insert(key, value)),
            other => complain(format!("key {key} is not completed in the end: {other:?}")),
        }
    }
    let settled: HashSet<u64> =
        answered(facts).filter(|(_, answer)| answer.settles).map(|(call, _)| call.message).collect();
    let messages = 0..facts.keys * OF_A_KEY;
    for message in messages.filter(|message| !settled.contains(message)) {
        complain(format!("message {message} was never settled"));
    }
    let forked: HashSet<u64> =
        facts.writes.iter().filter(|write| lost.has(&write.token)).map(|write| write.key).collect();
    for (call, Answer { outcome, value, .. }) in answered(facts) {
        if !OUTCOMES.contains(&outcome.as_str()) {
            complain(format!("a call of key {} came to `{outcome}`", call.key));
        }
        let right = match (outcome.as_str(), value) {
            ("executed" | "lost", Some(_)) => *value == call.run,
            // What was recorded first may have been lost, after it was told.
            ("replayed", Some(value)) if forked.contains(&call.key) => {
                facts.sent_values.get(&call.key).is_some_and(|sent| sent.contains(value))
            }
            ("replayed", Some(value)) => recorded.get(&call.key).is_none_or(|recorded| recorded == value),
            ("executed" | "replayed" | "lost", None) => false,
            (_, value) => value.is_none(),
        };
        if !right {
            complain(format!(
                "a call of key {} came to `{outcome}` with {value:?}, and {:?} is recorded",
                call.key,
                recorded.get(&call.key)
            ));
        }
    }
}

/// 4. No call outlived its time-out, where its process did not stand still. The longest, in microseconds.
pub(super) fn calls_end_in_time(facts: &Facts, complain: &mut impl FnMut(String)) -> u64 {
    let mut worst = 0;
    for call in &facts.calls {
        let Some(answer) = &call.answer else {
            if !facts.killed.contains(&call.process) {
                complain(format!("a call of key {} never ended, and its process was not killed", call.key));
            }
            continue;
        };
        if facts.stood_still(call.process, call.began, answer.at) {
            continue;
        }
        let (took, bound) = (answer.at - call.began, Work::of(call.key).longest_call());
        worst = worst.max(took);
        if u128::from(took) > bound.as_micros() {
            complain(format!("a call of key {} took {} ms: `{}`", call.key, took / 1000, answer.outcome));
        }
    }
    worst
}

fn answered(facts: &Facts) -> impl Iterator<Item = (&Call, &Answer)> {
    facts.calls.iter().filter_map(|call| Some((call, call.answer.as_ref()?)))
}
