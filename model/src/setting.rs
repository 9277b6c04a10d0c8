//! What one run of the checker goes through: the calls, their policies, and what may go wrong.

use crate::history::Broken;
use crate::operation::Request;
use crate::record::Who;
use crate::rules::{Rule, Without};
use crate::store_step::Table;

/// As many calls as the model has room for.
pub const MOST_CALLS: usize = 4;

/// The options of one call's handler, as far as the protocol knows them.
///
/// `timeout` is not here: a run that ends so is a dropped future. Nor is `on_lost`: `strict` is a dropped future too,
/// and `finish` gives up what this model proves.
#[expect(clippy::struct_excessive_bools, reason = "options, each on or off")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// `on_crash = hold` instead of `rerun`.
    pub hold: bool,
    /// `max_attempts`.
    pub max_attempts: Option<u8>,
    /// `existing = …`: whether the effect is there is asked before the body runs.
    pub existing: bool,
    /// `verify = …`: whether the effect is there is asked before a completed record is replayed.
    pub verify: bool,
    /// `on_busy = wait(…)`.
    pub waits: bool,
    /// The handler may return an error.
    pub fails: bool,
    /// Digest of the arguments.
    pub fingerprint: u8,
}

impl Policy {
    /// `on_crash = rerun`, for a handler that may fail.
    pub const RERUN: Self = Self {
        hold: false,
        max_attempts: None,
        existing: false,
        verify: false,
        waits: false,
        fails: true,
        fingerprint: 0,
    };
    /// `on_crash = hold`.
    pub const HOLD: Self = Self { hold: true, ..Self::RERUN };
    /// `on_crash = hold` with `existing`.
    pub const HOLD_EXISTING: Self = Self { existing: true, ..Self::HOLD };

    /// `max_attempts = most`.
    #[must_use]
    pub const fn at_most(mut self, most: u8) -> Self {
        self.max_attempts = Some(most);
        self
    }

    /// Whether `begin` is called before the body.
    pub const fn begins(self) -> bool {
        self.hold || self.max_attempts.is_some()
    }

    /// What the call asks for when it claims.
    pub const fn request(self, supersede: Option<Who>, without: Without) -> Request {
        Request {
            hold: self.hold && !self.existing,
            max_attempts: self.max_attempts,
            supersede,
            begun: !self.begins() || without.lacks(Rule::BeginComesFirst),
        }
    }
}

/// What may go wrong, and what the store's clock may do. Each is possible in every state in which it means anything.
#[expect(clippy::struct_excessive_bools, reason = "faults, each possible or not")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// An answer is lost, or a message is applied again, or late: whenever, and as often as the checker likes.
    pub stray: bool,
    /// A message that was answered, and whose answer was heard, may be applied again.
    pub repeat: bool,
    /// Messages are about for ever. Without it none is applied more than a lease after it was sent.
    pub ancient: bool,
    /// A worker is gone.
    pub crash: bool,
    /// A caller gives its call up: a dropped future, a panic, a time-out.
    pub drop: bool,
    /// A worker is stopped, and goes on later. Without it a worker still stands still for as long as the others like,
    /// which is the same where clocks count suspension.
    pub suspend: bool,
    /// Records expire.
    pub expire: bool,
    /// Leases age before they lapse.
    pub age: bool,
    /// The store is emptied, once.
    pub restart: bool,
    /// The business undoes the effect of a completed run, once: what `verify` is for.
    pub undo: bool,
}

impl Faults {
    /// All that the protocol stands without a weaker promise.
    pub const USUAL: Self = Self {
        stray: true,
        repeat: true,
        ancient: false,
        crash: true,
        drop: true,
        suspend: false,
        expire: true,
        age: false,
        restart: false,
        undo: false,
    };
}

/// One model: calls, faults and rules.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// How many calls there are. A worker that tries again is a further call: it has a new token.
    pub calls: usize,
    /// The policy of each call.
    pub policies: [Policy; MOST_CALLS],
    /// What may go wrong.
    pub faults: Faults,
    /// The rules that are left out.
    pub without: Without,
    /// The promises that are not kept in this setting.
    pub spared: &'static [Broken],
    /// What had happened before the first call.
    pub earlier: Earlier,
}

/// What had happened to the key before: where a search is to begin that would be long in coming there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Earlier {
    /// Nothing.
    #[default]
    Nothing,
    /// A further call's run has begun and was left open: its worker is gone, and its lease has lapsed.
    OpenRun,
    /// A further call's run has failed.
    FailedRun,
}

impl Setting {
    /// `calls` calls with one policy.
    pub const fn of(calls: usize, policy: Policy) -> Self {
        let faults = Faults { undo: policy.verify, ..Faults::USUAL };
        Self {
            calls,
            policies: [policy; MOST_CALLS],
            faults,
            without: Without::rules(&[]),
            spared: &[],
            earlier: Earlier::Nothing,
        }
    }

    /// One call for each of `policies`.
    pub fn each(policies: &[Policy]) -> Self {
        let mut setting = Self::of(policies.len(), policies[0]);
        setting.policies[..policies.len()].copy_from_slice(policies);
        setting.faults.undo = policies.iter().any(|policy| policy.verify);
        setting
    }

    /// Leaves rules out.
    #[must_use]
    pub const fn without(mut self, rules: &[Rule]) -> Self {
        self.without = Without::rules(rules);
        self
    }

    /// Changes what may go wrong.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Faults)) -> Self {
        change(&mut self.faults);
        self
    }

    /// Does not look whether these promises are kept.
    #[must_use]
    pub const fn sparing(mut self, promises: &'static [Broken]) -> Self {
        self.spared = promises;
        self
    }

    /// Begins after something had happened; there must be room for one more call than the setting has.
    #[must_use]
    pub const fn after(mut self, earlier: Earlier) -> Self {
        self.earlier = earlier;
        self
    }

    /// The options of a call.
    pub fn policy(&self, who: Who) -> Policy {
        self.policies[usize::from(who)]
    }

    /// The store's table for these calls.
    pub fn table(&self) -> Table {
        let most = self.policies[..self.calls].iter().filter_map(|policy| policy.max_attempts).max();
        Table {
            fingerprints: self.policies.map(|policy| policy.fingerprint),
            most: most.map_or(1, |most| most + 1),
            without: self.without,
        }
    }

    /// Whether the calls are alike, so that only one order in which they start need be looked at.
    pub fn alike(&self) -> bool {
        self.policies[..self.calls].iter().all(|policy| *policy == self.policies[0])
    }

    /// Whether the record of an open run is kept until somebody resolves it.
    pub fn holds_runs(&self) -> bool {
        self.policies[..self.calls].iter().any(|policy| policy.hold)
    }

    /// Whether a rule is left out.
    pub const fn lacks(&self, rule: Rule) -> bool {
        self.without.lacks(rule)
    }
}
