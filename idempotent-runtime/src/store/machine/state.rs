//! What stands under a key, and what can be asked of it. The steps from one state to the next are in `steps`.

use std::sync::Arc;
use std::time::Duration;

use crate::fingerprint::Fingerprint;
use crate::record::Completed;
use crate::store::{Acquired, ClaimAnswer, Found, Retention};
use crate::token::Token;

/// Time since the store was made.
pub(in crate::store) type Moment = Duration;

/// What stands under a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::store) enum State {
    #[default]
    Absent,
    InProgress(InProgress),
    Failed(Failed),
    Completed {
        record: Completed,
        expires: Option<Moment>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct InProgress {
    pub(in crate::store) token: Token,
    pub(in crate::store) attempt: u32,
    pub(in crate::store) owner: Arc<str>,
    pub(in crate::store) fingerprint: Option<Fingerprint>,
    pub(in crate::store) lease: Duration,
    pub(in crate::store) retention: Retention,
    pub(in crate::store) held: Retention,
    pub(in crate::store) live_until: Moment,
    pub(in crate::store) expires: Option<Moment>,
    pub(in crate::store) standing: Standing,
    pub(in crate::store) fence: u64,
    pub(in crate::store) found: Found,
    pub(in crate::store) before: Before,
}

/// How far a claim has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Standing {
    /// Claimed; its body has not been polled.
    Claimed,
    /// It counts as a run.
    Begun,
    /// Its run stopped where nobody can know what it did: lapsed, whatever the time.
    GivenUp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct Failed {
    pub(in crate::store) token: Token,
    pub(in crate::store) attempt: u32,
    pub(in crate::store) error: Arc<str>,
    pub(in crate::store) expires: Option<Moment>,
}

/// What a claim can put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) enum Before {
    /// Nothing: the key was absent, or the claim was itself put back.
    Nothing,
    /// The error of the failed record.
    Failed(Arc<str>),
    /// The claim that had lapsed. What that one can put back is not kept: a poison message's record must not grow.
    Lapsed(Box<InProgress>),
    /// The completed record that the caller keeps.
    Completed,
}

impl State {
    /// The state at `now`: what has expired is absent.
    pub(in crate::store) fn at(self, now: Moment) -> Self {
        if self.has_expired(now) { Self::Absent } else { self }
    }

    pub(in crate::store) fn has_expired(&self, now: Moment) -> bool {
        self.expires().is_some_and(|expires| expires <= now)
    }

    /// When the record ceases to be; `None` for never.
    pub(in crate::store) fn expires(&self) -> Option<Moment> {
        match self {
            Self::Absent => None,
            Self::InProgress(InProgress { expires, .. })
            | Self::Failed(Failed { expires, .. })
            | Self::Completed { expires, .. } => *expires,
        }
    }
}

impl From<Failed> for State {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

impl InProgress {
    /// Whether the claim is the call's own, and not given up.
    pub(in crate::store) fn belongs_to(&self, token: Token) -> bool {
        self.token == token && self.standing != Standing::GivenUp
    }

    pub(in crate::store) fn is_live(&self, now: Moment) -> bool {
        self.standing != Standing::GivenUp && now < self.live_until
    }

    pub(in crate::store) fn start_lease(&mut self, now: Moment) {
        self.live_until = now.saturating_add(self.lease);
        self.expires = self.kept().end(now);
    }

    /// How long the record is kept as it stands: a run that is open, or stands below, can be kept for longer.
    pub(in crate::store) fn kept(&self) -> Retention {
        let is_open = self.standing != Standing::Claimed || self.found == (Found::Lapsed { begun: true });
        if is_open { self.held } else { self.retention }
    }

    pub(in crate::store) fn acquired(&self) -> ClaimAnswer {
        ClaimAnswer::Acquired(Acquired { attempt: self.attempt, found: self.found, fence: Some(self.fence) })
    }

    pub(in crate::store) fn in_progress(&self, now: Moment) -> ClaimAnswer {
        let remaining = self.live_until.saturating_sub(now);
        ClaimAnswer::InProgress { remaining, attempt: self.attempt, owner: Arc::clone(&self.owner) }
    }

    /// How many runs have begun, this one included if it has.
    pub(in crate::store) fn runs(&self) -> u32 {
        if self.standing == Standing::Claimed { self.attempt.saturating_sub(1) } else { self.attempt }
    }

    /// The run that the next claim judges. A claim that never began stands for the run that it had found: else it would
    /// hide one that had begun, and `hold` would run twice.
    pub(in crate::store) fn stands_for(&self) -> &Self {
        match (&self.before, self.standing) {
            (Before::Lapsed(run), Standing::Claimed) if run.standing != Standing::Claimed => run,
            _ => self,
        }
    }

    /// What the claim that takes over can put back.
    pub(in crate::store) fn into_before(mut self) -> Before {
        match (self.before, self.standing) {
            (Before::Lapsed(run), Standing::Claimed) if run.standing != Standing::Claimed => Before::Lapsed(run),
            _ => {
                self.before = Before::Nothing;
                Before::Lapsed(Box::new(self))
            }
        }
    }

    /// The state that this claim found.
    pub(in crate::store) fn undone(
        mut self,
        now: Moment,
        lease: Duration,
        superseded: Option<(&Completed, Retention)>,
    ) -> State {
        let (token, attempt) = (self.token, self.attempt.saturating_sub(1));
        let expires = self.retention.end(now);
        match (std::mem::replace(&mut self.before, Before::Nothing), superseded) {
            (Before::Failed(error), _) => Failed { token, attempt, error, expires }.into(),
            (Before::Lapsed(claim), _) => State::InProgress(claim.lapsed_again(now)),
            (Before::Completed, Some((record, retention))) => {
                State::Completed { record: record.clone(), expires: retention.end(now) }
            }
            // The run that it had found is kept no more, and nobody knows its end: this record stands for it.
            (Before::Nothing, _) if self.found == (Found::Lapsed { begun: true }) => {
                let expires = self.held.end(now);
                State::InProgress(Self { attempt, standing: Standing::GivenUp, expires, ..self })
            }
            (Before::Nothing | Before::Completed, _) if attempt > 0 => {
                Failed { token, attempt, error: "".into(), expires }.into()
            }
            (Before::Nothing | Before::Completed, _) => Failed::in_memory_of(token, now, lease, "").into(),
        }
    }

    /// As it was when it was taken over: still lapsed. What is left of its retention is that of a lease that ends now.
    pub(in crate::store) fn lapsed_again(mut self, now: Moment) -> Self {
        self.expires = match self.kept() {
            Retention::For(all) => Some(now.saturating_add(all.saturating_sub(self.lease))),
            Retention::Forever => None,
        };
        self
    }
}

impl Failed {
    /// Nothing has run under this token and nothing shall: its own late claim must not come alive.
    pub(in crate::store) fn in_memory_of(token: Token, now: Moment, lease: Duration, error: &str) -> Self {
        let expires = Some(now.saturating_add(lease.saturating_mul(2)));
        Self { token, attempt: 0, error: error.into(), expires }
    }
}

impl Retention {
    pub(in crate::store) fn end(self, now: Moment) -> Option<Moment> {
        match self {
            Self::For(time) => Some(now.saturating_add(time)),
            Self::Forever => None,
        }
    }
}
