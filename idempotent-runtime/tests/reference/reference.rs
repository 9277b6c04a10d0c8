//! The contract once more, written from the protocol's tables alone: slow, plain, and apart from every store.
//!
//! Time is in quarters of a tick, so that leases, two leases, and what a lease leaves of a retention can all end between ticks. A record remembers whole what its claim had found.

use idempotent_runtime::store::{Acquired, Answer, ClaimAnswer, CompleteAnswer, Found, OnLapse, Release, Retention};
use idempotent_runtime::{Completed, Fingerprint, Recorded, Token};

/// Quarters of a tick.
pub(crate) type Quarters = u32;

/// For how long; `None` for ever.
pub(crate) type Kept = Option<Quarters>;

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) token: Token,
    pub(crate) owner: &'static str,
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) lease: Quarters,
    pub(crate) retention: Kept,
    pub(crate) held: Kept,
    pub(crate) on_lapse: OnLapse,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) begun: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    InProgress,
    Failed,
    Completed,
}

#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    pub(crate) token: Token,
    pub(crate) attempt: u32,
    pub(crate) owner: &'static str,
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) lease: Quarters,
    retention: Kept,
    held: Kept,
    /// When the lease started last.
    renewed: Quarters,
    pub(crate) kept_until: Kept,
    pub(crate) begun: bool,
    pub(crate) given_up: bool,
    pub(crate) error: String,
    pub(crate) result: Option<Recorded>,
    found: Found,
    /// The record that the claim found; none where it was absent, or where the claim has been put back before.
    under: Option<Box<Record>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Reference {
    now: Quarters,
    record: Option<Record>,
}

fn after(now: Quarters, kept: Kept) -> Kept {
    kept.map(|quarters| now + quarters)
}

fn acquired(record: &Record) -> ClaimAnswer {
    ClaimAnswer::Acquired(Acquired { attempt: record.attempt, found: record.found, fence: None })
}

impl Record {
    fn is_lapsed(&self, now: Quarters) -> bool {
        self.given_up || now >= self.renewed + self.lease
    }

    /// How long it is kept as it stands.
    fn kept(&self) -> Kept {
        if self.begun || self.found == (Found::Lapsed { begun: true }) { self.held } else { self.retention }
    }

    fn as_completed(&self) -> Completed {
        let result = self.result.clone().expect("a completed record has a result");
        Completed { token: self.token, attempt: self.attempt, fingerprint: self.fingerprint, result }
    }

    fn differs(&self, fingerprint: Option<Fingerprint>) -> bool {
        matches!((self.fingerprint, fingerprint), (Some(one), Some(other)) if one != other)
    }
}

impl Reference {
    pub(crate) fn pass(&mut self, quarters: Quarters) {
        self.now += quarters;
    }

    /// The record, if it has not expired.
    pub(crate) fn record(&mut self) -> Option<&mut Record> {
        if self.record.as_ref().is_some_and(|record| record.kept_until.is_some_and(|until| until <= self.now)) {
            self.record = None;
        }
        self.record.as_mut()
    }

    /// The completed record that the claim in progress has replaced.
    pub(crate) fn replaced(&mut self) -> Option<Completed> {
        let under = self.record()?.under.as_deref()?;
        (under.kind == Kind::Completed).then(|| under.as_completed())
    }

    /// What is left of a live lease.
    pub(crate) fn remaining(&mut self) -> Quarters {
        let now = self.now;
        match self.record() {
            Some(record) if record.kind == Kind::InProgress && !record.is_lapsed(now) => {
                record.renewed + record.lease - now
            }
            _ => 0,
        }
    }

    /// For how long the record is still kept.
    pub(crate) fn expires_in(&mut self, quarter: std::time::Duration) -> Retention {
        let now = self.now;
        let until = self.record().and_then(|record| record.kept_until);
        retention(until.map(|until| until - now), quarter)
    }

    /// The answer, with `remaining` of an `InProgress` left at zero and no fence.
    pub(crate) fn claim(&mut self, request: &Request, supersede: Option<Token>) -> ClaimAnswer {
        let now = self.now;
        let Some(record) = self.record() else { return self.take(request, 1, Found::Absent, None) };
        let own = record.token == request.token;
        let used_up = |attempt| request.max_attempts.is_some_and(|most| attempt >= most);
        match record.kind {
            Kind::Failed if own => ClaimAnswer::Lost,
            Kind::Failed if used_up(record.attempt) => ClaimAnswer::Exhausted { attempt: record.attempt },
            Kind::Failed => {
                let under = record.clone();
                self.take(request, under.attempt + 1, Found::Failed, Some(under))
            }
            Kind::InProgress if own && record.given_up => ClaimAnswer::Lost,
            Kind::InProgress if own => {
                record.begun |= request.begun;
                record.renewed = now;
                record.kept_until = after(now, record.kept());
                acquired(record)
            }
            Kind::InProgress if record.differs(request.fingerprint) => ClaimAnswer::Mismatch,
            Kind::InProgress if !record.is_lapsed(now) => ClaimAnswer::InProgress {
                remaining: std::time::Duration::ZERO,
                attempt: record.attempt,
                owner: record.owner.into(),
            },
            Kind::InProgress => {
                let mut lapsed = record.clone();
                // Had it not begun, the begun claim that it took over still stands, whatever lies between.
                if !lapsed.begun
                    && let Some(under) = lapsed.under.as_deref().filter(|u| u.kind == Kind::InProgress && u.begun)
                {
                    lapsed = under.clone();
                }
                let runs = lapsed.attempt - u32::from(!lapsed.begun);
                if used_up(runs) {
                    return ClaimAnswer::Exhausted { attempt: runs };
                }
                if lapsed.begun && request.on_lapse == OnLapse::Hold {
                    return ClaimAnswer::Abandoned { attempt: runs, owner: lapsed.owner.into() };
                }
                let found = Found::Lapsed { begun: lapsed.begun };
                self.take(request, runs + 1, found, Some(lapsed))
            }
            Kind::Completed if own => ClaimAnswer::Completed(record.as_completed()),
            Kind::Completed if record.differs(request.fingerprint) => ClaimAnswer::Mismatch,
            Kind::Completed if supersede == Some(record.token) => {
                let under = record.clone();
                self.take(request, under.attempt + 1, Found::Completed, Some(under))
            }
            Kind::Completed => ClaimAnswer::Completed(record.as_completed()),
        }
    }

    fn take(&mut self, request: &Request, attempt: u32, found: Found, under: Option<Record>) -> ClaimAnswer {
        let mut record = Record {
            kind: Kind::InProgress,
            token: request.token,
            attempt,
            owner: request.owner,
            fingerprint: request.fingerprint,
            lease: request.lease,
            retention: request.retention,
            held: request.held,
            renewed: self.now,
            kept_until: None,
            begun: request.begun,
            given_up: false,
            error: String::new(),
            result: None,
            found,
            under: under.map(Box::new),
        };
        record.kept_until = after(self.now, record.kept());
        let answer = acquired(&record);
        self.record = Some(record);
        answer
    }

    /// The record, if it is in progress, of this token, and not given up.
    fn own(&mut self, token: Token) -> Option<&mut Record> {
        self.record().filter(|r| r.kind == Kind::InProgress && r.token == token && !r.given_up)
    }

    pub(crate) fn begin(&mut self, token: Token) -> Answer {
        let now = self.now;
        match self.own(token) {
            Some(record) if !record.is_lapsed(now) => {
                record.begun = true;
                record.renewed = now;
                record.kept_until = after(now, record.kept());
                Answer::Held
            }
            _ => Answer::Lost,
        }
    }

    pub(crate) fn renew(&mut self, token: Token) -> Answer {
        let now = self.now;
        let Some(record) = self.own(token) else { return Answer::Lost };
        record.renewed = now;
        record.kept_until = after(now, record.kept());
        Answer::Held
    }

    pub(crate) fn complete(&mut self, token: Token, result: &Recorded, kept: Kept) -> CompleteAnswer {
        let now = self.now;
        if let Some(record) = self.own(token) {
            record.kind = Kind::Completed;
            record.result = Some(result.clone());
            record.kept_until = after(now, kept);
            return CompleteAnswer::Held;
        }
        match self.record() {
            None => CompleteAnswer::Absent,
            Some(record) if record.kind != Kind::Completed => CompleteAnswer::Lost(None),
            Some(record) if record.token == token => CompleteAnswer::Held,
            Some(record) => CompleteAnswer::Lost(Some(record.as_completed())),
        }
    }

    pub(crate) fn release(&mut self, token: Token, release: Release<'_>, lease: Quarters) -> Answer {
        let now = self.now;
        if self.own(token).is_some_and(|record| !record.begun) {
            return self.put_back(token, lease, None);
        }
        if let Some(record) = self.own(token) {
            match release {
                Release::Failed(error) => {
                    record.kind = Kind::Failed;
                    error.clone_into(&mut record.error);
                    record.kept_until = after(now, record.retention);
                }
                Release::GivenUp => {
                    record.given_up = true;
                    record.kept_until = after(now, record.kept());
                }
            }
            return Answer::Held;
        }
        match self.record() {
            None => {
                let error = if let Release::Failed(error) = release { error } else { "" };
                self.bury(token, 0, error, Some(2 * lease));
                Answer::Held
            }
            Some(record) if record.token == token && record.kind != Kind::Completed => Answer::Held,
            Some(_) => Answer::Lost,
        }
    }

    pub(crate) fn put_back(&mut self, token: Token, lease: Quarters, superseded: Option<(&Completed, Kept)>) -> Answer {
        let now = self.now;
        let Some(record) = self.own(token).cloned() else {
            if self.record().is_some() {
                return Answer::Lost;
            }
            self.bury(token, 0, "", Some(2 * lease));
            return Answer::Held;
        };
        match record.under.as_deref() {
            Some(under) if under.kind == Kind::Failed => {
                let (retention, mut failed) = (record.retention, under.clone());
                failed.token = token;
                failed.kept_until = after(now, retention);
                self.record = Some(failed);
            }
            Some(under) if under.kind == Kind::InProgress => {
                let mut lapsed = under.clone();
                lapsed.under = None;
                // Lapsed at this moment: of its retention a lease is gone.
                lapsed.kept_until = lapsed.kept().map(|kept| now + kept - lapsed.lease);
                lapsed.renewed = now.saturating_sub(lapsed.lease);
                self.record = Some(lapsed);
            }
            Some(under) if let Some((completed, kept)) = superseded => {
                let mut restored = under.clone();
                (restored.token, restored.attempt) = (completed.token, completed.attempt);
                (restored.fingerprint, restored.result) = (completed.fingerprint, Some(completed.result.clone()));
                restored.kept_until = after(now, kept);
                self.record = Some(restored);
            }
            _ if record.found == (Found::Lapsed { begun: true }) => {
                // Nobody knows how the run ended that is not remembered any more.
                let kept_until = after(now, record.held);
                let (attempt, begun, given_up) = (record.attempt - 1, true, true);
                self.record = Some(Record { attempt, begun, given_up, kept_until, under: None, ..record });
            }
            _ if record.attempt > 1 => self.bury(token, record.attempt - 1, "", record.retention),
            _ => self.bury(token, 0, "", Some(2 * lease)),
        }
        Answer::Held
    }

    /// A failed record of this token.
    fn bury(&mut self, token: Token, attempt: u32, error: &str, kept: Kept) {
        self.record = Some(Record {
            kind: Kind::Failed,
            token,
            attempt,
            owner: "",
            fingerprint: None,
            lease: 0,
            retention: kept,
            held: kept,
            renewed: self.now,
            kept_until: after(self.now, kept),
            begun: false,
            given_up: false,
            error: error.to_owned(),
            result: None,
            found: Found::Absent,
            under: None,
        });
    }
}

/// As the store is told.
pub(crate) fn retention(kept: Kept, quarter: std::time::Duration) -> Retention {
    kept.map_or(Retention::Forever, |quarters| Retention::For(quarters * quarter))
}
