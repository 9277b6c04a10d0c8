//! One record, and every step that it can take: the store's contract as pure functions of (state, now, request).
//!
//! Nothing here reads a clock or takes a lock. A moment is the time since the store was made. Each function takes the
//! state that stands and returns the answer with the state that stands afterwards; the cells of the tables in
//! [`Store`](crate::Store) are the arms of the `match`es, in the same order.

use std::sync::Arc;
use std::time::Duration;

use crate::fingerprint::Fingerprint;
use crate::record::{Completed, Recorded};
use crate::store::{Acquired, Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Found, OnLapse, Release, Retention};
use crate::token::Token;

/// Time since the store was made.
pub(crate) type Moment = Duration;

/// What stands under a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
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
pub(crate) struct InProgress {
    pub(crate) token: Token,
    pub(crate) attempt: u32,
    pub(crate) owner: Arc<str>,
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) lease: Duration,
    pub(crate) retention: Retention,
    pub(crate) live_until: Moment,
    pub(crate) expires: Option<Moment>,
    pub(crate) standing: Standing,
    pub(crate) fence: u64,
    pub(crate) found: Found,
    pub(crate) before: Before,
}

/// How far a claim has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Claimed; its body has not been polled.
    Claimed,
    /// It counts as a run.
    Begun,
    /// Its run stopped where nobody can know what it did: lapsed, whatever the time.
    GivenUp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) token: Token,
    pub(crate) attempt: u32,
    pub(crate) error: Arc<str>,
    pub(crate) expires: Option<Moment>,
}

/// What a claim can put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing: the key was absent, or the claim was itself put back.
    Nothing,
    /// The error of the failed record.
    Failed(Arc<str>),
    /// The claim that had lapsed. What that one can put back is not kept: a poison message's record must not grow.
    Lapsed(Box<InProgress>),
    /// The completed record that the caller keeps.
    Completed,
}

/// A claim as the store puts it to the record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim<'a> {
    pub(crate) request: &'a ClaimRequest<'a>,
    /// The request's owner, shared.
    pub(crate) owner: &'a Arc<str>,
    /// The fence of this claim, if it is acquired.
    pub(crate) fence: u64,
}

/// See [`Store::claim`](crate::Store::claim).
pub(crate) fn claim(state: State, now: Moment, claim: &Claim<'_>) -> (ClaimAnswer, State) {
    let request = claim.request;
    match state.at(now) {
        State::Absent => claim.acquire(now, 1, Found::Absent, Before::Nothing),

        State::Failed(failed) if failed.token == request.token => (ClaimAnswer::Lost, State::Failed(failed)),
        State::Failed(failed) if request.no_attempt_after(failed.attempt) => {
            (ClaimAnswer::Exhausted { attempt: failed.attempt }, State::Failed(failed))
        }
        State::Failed(failed) => {
            claim.acquire(now, failed.attempt.saturating_add(1), Found::Failed, Before::Failed(failed.error))
        }

        State::InProgress(own) if own.token == request.token => claim_again(own, now, request),
        State::InProgress(other) => match compare(request, other.fingerprint) {
            Some(refusal) => (refusal, State::InProgress(other)),
            None if other.is_live(now) => (other.in_progress(now), State::InProgress(other)),
            None => take_over(other, now, claim),
        },

        State::Completed { record, expires } if record.token == request.token => {
            (ClaimAnswer::Completed(record.clone()), State::Completed { record, expires })
        }
        State::Completed { record, expires } => match compare(request, record.fingerprint) {
            Some(refusal) => (refusal, State::Completed { record, expires }),
            None if request.supersede == Some(record.token) => {
                claim.acquire(now, record.attempt.saturating_add(1), Found::Completed, Before::Completed)
            }
            None => (ClaimAnswer::Completed(record.clone()), State::Completed { record, expires }),
        },
    }
}

/// The answer was lost, and the call asks again.
fn claim_again(mut own: InProgress, now: Moment, request: &ClaimRequest<'_>) -> (ClaimAnswer, State) {
    if own.standing == Standing::GivenUp {
        return (ClaimAnswer::Lost, State::InProgress(own));
    }
    if request.begun {
        own.standing = Standing::Begun;
    }
    own.start_lease(now);
    (own.acquired(), State::InProgress(own))
}

/// Another's claim has lapsed.
fn take_over(lapsed: InProgress, now: Moment, claim: &Claim<'_>) -> (ClaimAnswer, State) {
    let run = lapsed.stands_for();
    let (attempt, begun) = (run.attempt, run.standing != Standing::Claimed);
    if begun && claim.request.no_attempt_after(attempt) {
        return (ClaimAnswer::Exhausted { attempt }, State::InProgress(lapsed));
    }
    if begun && claim.request.on_lapse == OnLapse::Hold {
        let answer = ClaimAnswer::Abandoned { attempt, owner: Arc::clone(&run.owner) };
        return (answer, State::InProgress(lapsed));
    }
    let attempt = if begun { attempt.saturating_add(1) } else { attempt };
    claim.acquire(now, attempt, Found::Lapsed { begun }, lapsed.into_before())
}

/// See [`Store::begin`](crate::Store::begin).
pub(crate) fn begin(state: State, now: Moment, token: Token) -> (Answer, State) {
    match state.at(now) {
        State::InProgress(mut own) if own.token == token && own.is_live(now) => {
            own.standing = Standing::Begun;
            own.start_lease(now);
            (Answer::Held, State::InProgress(own))
        }
        other => (Answer::Lost, other),
    }
}

/// See [`Store::renew`](crate::Store::renew).
pub(crate) fn renew(state: State, now: Moment, token: Token) -> (Answer, State) {
    match state.at(now) {
        State::InProgress(mut own) if own.belongs_to(token) => {
            own.start_lease(now);
            (Answer::Held, State::InProgress(own))
        }
        other => (Answer::Lost, other),
    }
}

/// See [`Store::complete`](crate::Store::complete).
pub(crate) fn complete(
    state: State,
    now: Moment,
    token: Token,
    result: &Recorded,
    retention: Retention,
) -> (CompleteAnswer, State) {
    match state.at(now) {
        State::InProgress(own) if own.belongs_to(token) => {
            let InProgress { token, attempt, fingerprint, .. } = own;
            let record = Completed { token, attempt, fingerprint, result: result.clone() };
            (CompleteAnswer::Held, State::Completed { record, expires: retention.end(now) })
        }
        State::Completed { record, expires } if record.token == token => {
            (CompleteAnswer::Held, State::Completed { record, expires })
        }
        State::Completed { record, expires } => {
            (CompleteAnswer::Lost(Some(record.clone())), State::Completed { record, expires })
        }
        State::Absent => (CompleteAnswer::Absent, State::Absent),
        other => (CompleteAnswer::Lost(None), other),
    }
}

/// See [`Store::release`](crate::Store::release).
pub(crate) fn release(
    state: State,
    now: Moment,
    token: Token,
    release: Release<'_>,
    lease: Duration,
) -> (Answer, State) {
    match state.at(now) {
        State::InProgress(mut own) if own.belongs_to(token) => match release {
            Release::Failed(error) => {
                let expires = own.retention.end(now);
                (Answer::Held, Failed { token, attempt: own.attempt, error: error.into(), expires }.into())
            }
            Release::GivenUp => {
                own.standing = Standing::GivenUp;
                (Answer::Held, State::InProgress(own))
            }
        },
        State::InProgress(given_up) if given_up.token == token => (Answer::Held, State::InProgress(given_up)),
        State::Failed(failed) if failed.token == token => (Answer::Held, State::Failed(failed)),
        State::Absent => (Answer::Held, Failed::in_memory_of(token, 0, now, lease, release.error()).into()),
        other => (Answer::Lost, other),
    }
}

/// See [`Store::put_back`](crate::Store::put_back).
pub(crate) fn put_back(
    state: State,
    now: Moment,
    token: Token,
    lease: Duration,
    superseded: Option<(&Completed, Retention)>,
) -> (Answer, State) {
    match state.at(now) {
        State::InProgress(own) if own.belongs_to(token) => (Answer::Held, own.undone(now, lease, superseded)),
        State::Absent => (Answer::Held, Failed::in_memory_of(token, 0, now, lease, "").into()),
        other => (Answer::Lost, other),
    }
}

impl State {
    /// The state at `now`: what has expired is absent.
    pub(crate) fn at(self, now: Moment) -> Self {
        if self.has_expired(now) { Self::Absent } else { self }
    }

    pub(crate) fn has_expired(&self, now: Moment) -> bool {
        self.expires().is_some_and(|expires| expires <= now)
    }

    /// When the record ceases to be; `None` for never.
    pub(crate) fn expires(&self) -> Option<Moment> {
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

impl Claim<'_> {
    fn acquire(&self, now: Moment, attempt: u32, found: Found, before: Before) -> (ClaimAnswer, State) {
        let request = self.request;
        let mut own = InProgress {
            token: request.token,
            attempt,
            owner: Arc::clone(self.owner),
            fingerprint: request.fingerprint,
            lease: request.lease,
            retention: request.retention,
            live_until: now,
            expires: None,
            standing: if request.begun { Standing::Begun } else { Standing::Claimed },
            fence: self.fence,
            found,
            before,
        };
        own.start_lease(now);
        (own.acquired(), State::InProgress(own))
    }
}

impl ClaimRequest<'_> {
    fn no_attempt_after(&self, attempt: u32) -> bool {
        self.max_attempts.is_some_and(|most| attempt >= most.get())
    }
}

/// Why the request may not be answered by a record with this fingerprint, if it may not.
fn compare(request: &ClaimRequest<'_>, recorded: Option<Fingerprint>) -> Option<ClaimAnswer> {
    let (asked, recorded) = (request.fingerprint?, recorded?);
    match asked.matches(recorded) {
        Some(true) => None,
        Some(false) => Some(ClaimAnswer::Mismatch),
        None => Some(ClaimAnswer::Unreadable(
            format!("its fingerprint {recorded} is of another version than the call's {asked}").into(),
        )),
    }
}

impl InProgress {
    /// Whether the claim is the call's own, and not given up.
    fn belongs_to(&self, token: Token) -> bool {
        self.token == token && self.standing != Standing::GivenUp
    }

    fn is_live(&self, now: Moment) -> bool {
        self.standing != Standing::GivenUp && now < self.live_until
    }

    fn start_lease(&mut self, now: Moment) {
        self.live_until = now.saturating_add(self.lease);
        self.expires = self.retention.end(now);
    }

    fn acquired(&self) -> ClaimAnswer {
        ClaimAnswer::Acquired(Acquired { attempt: self.attempt, found: self.found, fence: Some(self.fence) })
    }

    fn in_progress(&self, now: Moment) -> ClaimAnswer {
        let remaining = self.live_until.saturating_sub(now);
        ClaimAnswer::InProgress { remaining, attempt: self.attempt, owner: Arc::clone(&self.owner) }
    }

    /// The run that the next claim judges. A claim that never began stands for the run that it had found: else it would
    /// hide one that had begun, and `hold` would run twice.
    fn stands_for(&self) -> &Self {
        match (&self.before, self.standing) {
            (Before::Lapsed(run), Standing::Claimed) if run.standing != Standing::Claimed => run,
            _ => self,
        }
    }

    /// What the claim that takes over can put back.
    fn into_before(mut self) -> Before {
        match (self.before, self.standing) {
            (Before::Lapsed(run), Standing::Claimed) if run.standing != Standing::Claimed => Before::Lapsed(run),
            _ => {
                self.before = Before::Nothing;
                Before::Lapsed(Box::new(self))
            }
        }
    }

    /// The state that this claim found.
    fn undone(self, now: Moment, lease: Duration, superseded: Option<(&Completed, Retention)>) -> State {
        let (token, attempt) = (self.token, self.attempt.saturating_sub(1));
        match (self.before, superseded) {
            (Before::Failed(error), _) => Failed { token, attempt, error, expires: self.retention.end(now) }.into(),
            (Before::Lapsed(claim), _) => State::InProgress(claim.lapsed_again(now)),
            (Before::Completed, Some((record, retention))) => {
                State::Completed { record: record.clone(), expires: retention.end(now) }
            }
            (Before::Nothing | Before::Completed, _) => Failed::in_memory_of(token, attempt, now, lease, "").into(),
        }
    }

    /// As it was when it was taken over; what is left of its retention is that of a lease that ends now.
    fn lapsed_again(mut self, now: Moment) -> Self {
        self.live_until = now;
        self.expires = match self.retention {
            Retention::For(all) => Some(now.saturating_add(all.saturating_sub(self.lease))),
            Retention::Forever => None,
        };
        self
    }
}

impl Failed {
    /// Nothing has run under this token and nothing shall: its own late claim must not come alive.
    fn in_memory_of(token: Token, attempt: u32, now: Moment, lease: Duration, error: &str) -> Self {
        let expires = Some(now.saturating_add(lease.saturating_mul(2)));
        Self { token, attempt, error: error.into(), expires }
    }
}

impl Release<'_> {
    fn error(&self) -> &str {
        match self {
            Self::Failed(error) => error,
            Self::GivenUp => "",
        }
    }
}

impl Retention {
    pub(super) fn end(self, now: Moment) -> Option<Moment> {
        match self {
            Self::For(time) => Some(now.saturating_add(time)),
            Self::Forever => None,
        }
    }
}
