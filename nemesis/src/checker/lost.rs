//! Which acknowledged writes the store has lost: proven by what a server holds that has taken over.
//!
//! A record only moves on: from claim to claim with one attempt more, and to its end, where it stays. So a server that
//! was looked at after a write had been acknowledged, and holds nothing, or an earlier state, or a claim of another
//! that counts no more attempts than the write's own, does not have that write. Nor does a server that holds, after
//! the write was acknowledged, a claim of another that was acknowledged before the write was sent: somebody still wrote to
//! the server that had been replaced.
//!
//! Only what was acknowledged around a failover can be lost: a record that vanishes at any other time is somebody's
//! mistake. And nothing is proven about claims that were put back: there the record does go back to what it was.

use std::collections::{HashMap, HashSet};

use super::facts::{Dump, Facts, Kind, Write};
use crate::history::{Held, Moment, State};

/// What clocks in milliseconds and the time between reading and writing down may come to.
const BLUR: Moment = 300_000;

/// How far a replica may be behind: when a trouble begins, all are in step.
const LAG: Moment = 1_000_000;

/// The writes that are lost.
#[derive(Debug, Default)]
pub(super) struct Lost {
    by_token: HashMap<String, HashSet<Kind>>,
}

impl Lost {
    pub(super) fn find(facts: &Facts) -> Self {
        let mut lost = Self::default();
        for write in facts.writes.iter().filter(|write| !facts.put_back.contains(&write.token)) {
            // Also an answer that a process which stood still has read late.
            let around = |began: Moment, over| write.sent <= over && began.saturating_sub(LAG) <= write.acknowledged;
            let Some(began) =
                facts.failovers.iter().find(|failover| around(failover.0, failover.1)).map(|found| found.0)
            else {
                continue;
            };
            let proves = |dump: &Dump| proves_loss(dump, write) || was_passed_by(facts, dump, write);
            if facts.dumps.iter().any(|dump| dump.at > began && proves(dump)) {
                lost.by_token.entry(write.token.clone()).or_default().insert(write.kind);
            }
        }
        lost
    }

    /// How many writes: a claim and its renewals count as one.
    pub(super) fn count(&self) -> usize {
        let kinds = |kinds: &HashSet<Kind>| {
            usize::from(kinds.contains(&Kind::Completion))
                + usize::from(kinds.contains(&Kind::Claim) || kinds.contains(&Kind::Renewal))
        };
        self.by_token.values().map(kinds).sum()
    }

    /// Whether something of this claim was lost.
    pub(super) fn has(&self, token: &str) -> bool {
        self.by_token.contains_key(token)
    }
}

fn proves_loss(dump: &Dump, write: &Write) -> bool {
    if dump.at <= write.acknowledged || write.key < dump.from {
        return false;
    }
    match dump.records.get(&write.key) {
        None => true,
        Some(held) if held.token == write.token => is_earlier(held, dump.at, write),
        Some(held) => held.attempt <= write.attempt,
    }
}

/// Whether the server in charge still holds a claim that stood before this write was sent: the write is none of its.
fn was_passed_by(facts: &Facts, dump: &Dump, write: &Write) -> bool {
    let Some(held) = dump.records.get(&write.key) else { return false };
    let stood_before =
        |claim: &Write| claim.kind == Kind::Claim && claim.token == held.token && claim.acknowledged < write.sent;
    dump.at > write.acknowledged && held.token != write.token && facts.writes.iter().any(stood_before)
}

/// Whether a record of the claim itself is as it was before the write.
fn is_earlier(held: &Held, at: Moment, write: &Write) -> bool {
    match (write.kind, held.state) {
        (Kind::Claim, _) | (Kind::Completion, State::Completed(_)) => false,
        (Kind::Completion, _) => true,
        (Kind::Renewal, State::InProgress { renewed_ago }) => at.saturating_sub(renewed_ago * 1000) + BLUR < write.sent,
        (Kind::Renewal, _) => false,
    }
}
