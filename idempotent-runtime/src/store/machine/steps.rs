//! Every step that a record can take: the store's contract as pure functions of (state, now, request).
//!
//! Nothing here reads a clock or takes a lock. Each function takes the state that stands and returns the answer with
//! the state that stands afterwards; the cells of the tables in [`Store`](crate::Store) are the arms of the `match`es,
//! in the same order.

use std::sync::Arc;
use std::time::Duration;

use super::state::{Before, Failed, InProgress, Moment, Standing, State};
use crate::fingerprint::Fingerprint;
use crate::record::{Completed, Recorded};
use crate::store::{Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Found, OnLapse, Release, Retention};
use crate::token::Token;

/// A claim as the store puts it to the record.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Claim<'a> {
    pub(in crate::store) request: &'a ClaimRequest<'a>,
    /// The request's owner, shared.
    pub(in crate::store) owner: &'a Arc<str>,
    /// The fence of this claim, if it is acquired.
    pub(in crate::store) fence: u64,
}

/// See [`Store::claim`](crate::Store::claim).
pub(in crate::store) fn claim(state: State, now: Moment, claim: &Claim<'_>) -> (ClaimAnswer, State) {
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

        State::InProgress(own) if own.token == request.token => claim_again(own, now, request.begun),
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
fn claim_again(mut own: InProgress, now: Moment, begun: bool) -> (ClaimAnswer, State) {
    if own.standing == Standing::GivenUp {
        return (ClaimAnswer::Lost, State::InProgress(own));
    }
    if begun {
        own.standing = Standing::Begun;
    }
    own.start_lease(now);
    (own.acquired(), State::InProgress(own))
}

/// Another's claim has lapsed.
fn take_over(lapsed: InProgress, now: Moment, claim: &Claim<'_>) -> (ClaimAnswer, State) {
    let run = lapsed.stands_for();
    let (attempt, begun) = (run.runs(), run.standing != Standing::Claimed);
    if claim.request.no_attempt_after(attempt) {
        return (ClaimAnswer::Exhausted { attempt }, State::InProgress(lapsed));
    }
    if begun && claim.request.on_lapse == OnLapse::Hold {
        let answer = ClaimAnswer::Abandoned { attempt, owner: Arc::clone(&run.owner) };
        return (answer, State::InProgress(lapsed));
    }
    claim.acquire(now, attempt.saturating_add(1), Found::Lapsed { begun }, lapsed.into_before())
}

/// See [`Store::begin`](crate::Store::begin).
pub(in crate::store) fn begin(state: State, now: Moment, token: Token) -> (Answer, State) {
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
pub(in crate::store) fn renew(state: State, now: Moment, token: Token) -> (Answer, State) {
    match state.at(now) {
        State::InProgress(mut own) if own.belongs_to(token) => {
            own.start_lease(now);
            (Answer::Held, State::InProgress(own))
        }
        other => (Answer::Lost, other),
    }
}

/// See [`Store::complete`](crate::Store::complete).
pub(in crate::store) fn complete(
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
pub(in crate::store) fn release(
    state: State,
    now: Moment,
    token: Token,
    release: Release<'_>,
    lease: Duration,
) -> (Answer, State) {
    match state.at(now) {
        // A late claim with a late release: nothing has run.
        State::InProgress(own) if own.belongs_to(token) && own.standing == Standing::Claimed => {
            (Answer::Held, own.undone(now, lease, None))
        }
        State::InProgress(mut own) if own.belongs_to(token) => match release {
            Release::Failed(error) => {
                let expires = own.retention.end(now);
                (Answer::Held, Failed { token, attempt: own.attempt, error: error.into(), expires }.into())
            }
            Release::GivenUp => {
                own.standing = Standing::GivenUp;
                own.expires = own.kept().end(now);
                (Answer::Held, State::InProgress(own))
            }
        },
        State::InProgress(given_up) if given_up.token == token => (Answer::Held, State::InProgress(given_up)),
        State::Failed(failed) if failed.token == token => (Answer::Held, State::Failed(failed)),
        State::Absent => (Answer::Held, Failed::in_memory_of(token, now, lease, release.error()).into()),
        other => (Answer::Lost, other),
    }
}

/// See [`Store::put_back`](crate::Store::put_back).
pub(in crate::store) fn put_back(
    state: State,
    now: Moment,
    token: Token,
    lease: Duration,
    superseded: Option<(&Completed, Retention)>,
) -> (Answer, State) {
    match state.at(now) {
        State::InProgress(own) if own.belongs_to(token) => (Answer::Held, own.undone(now, lease, superseded)),
        State::Absent => (Answer::Held, Failed::in_memory_of(token, now, lease, "").into()),
        other => (Answer::Lost, other),
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
            held: request.held,
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

impl Release<'_> {
    fn error(&self) -> &str {
        match self {
            Self::Failed(error) => error,
            Self::GivenUp => "",
        }
    }
}
