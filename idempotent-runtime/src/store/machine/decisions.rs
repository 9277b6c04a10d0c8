//! What administration asks of a record, and does to it: as pure functions, like the [`steps`](super::steps).

use std::sync::Arc;
use std::time::Duration;

use super::state::{Failed, InProgress, Moment, Standing, State};
use crate::admin::{self, Change, Changed, Inspected, Leases, Seen, Summary};
use crate::record::{Completed, Recorded};
use crate::store::Retention;
use crate::token::Token;

/// See [`Admin::inspect`](crate::admin::Admin::inspect).
pub(in crate::store) fn inspect(state: State, now: Moment) -> (Option<Inspected>, State) {
    let state = state.at(now);
    (shown(&state, now), state)
}

/// See [`Admin::change`](crate::admin::Admin::change).
pub(in crate::store) fn change(state: State, now: Moment, seen: &Inspected, change: &Change) -> (Changed, State) {
    let state = state.at(now);
    match shown(&state, now) {
        Some(found) if seen.is_still(&found) => (Changed::Done, changed(&state, now, seen, change)),
        _ => (Changed::Moved, state),
    }
}

/// See [`Admin::remove`](crate::admin::Admin::remove).
pub(in crate::store) fn remove(state: State, now: Moment, seen: Seen, leases: Leases) -> (Changed, State) {
    let state = state.at(now);
    match summarised(&state, now) {
        Some(found) if seen == found.seen() && (leases == Leases::Broken || !found.is_live()) => {
            (Changed::Done, State::Absent)
        }
        _ => (Changed::Moved, state),
    }
}

/// The record as a person sees it; nothing where it is absent.
pub(in crate::store) fn shown(state: &State, now: Moment) -> Option<Inspected> {
    shown_with(state, now, Recorded::clone)
}

/// The record as it stands in a list.
pub(in crate::store) fn summarised(state: &State, now: Moment) -> Option<Summary> {
    shown_with(state, now, |_| ())
}

fn shown_with<R>(state: &State, now: Moment, of_result: impl FnOnce(&Recorded) -> R) -> Option<Inspected<R>> {
    let expires_in = state.expires().map_or(Retention::Forever, |at| Retention::For(at.saturating_sub(now)));
    Some(match state {
        State::Absent => return None,
        State::InProgress(InProgress { token, attempt, owner, fingerprint, lease, live_until, standing, .. }) => {
            let given_up = *standing == Standing::GivenUp;
            let remaining = if given_up { Duration::ZERO } else { live_until.saturating_sub(now) };
            let silent_for = (now + *lease).saturating_sub(*live_until);
            let begun = *standing != Standing::Claimed;
            let state = admin::State::InProgress { remaining, silent_for, lease: *lease, begun, given_up };
            let (owner, fingerprint) = (Arc::clone(owner), *fingerprint);
            Inspected { token: *token, attempt: *attempt, owner, fingerprint, state, expires_in }
        }
        State::Failed(Failed { token, attempt, error, .. }) => {
            let state = admin::State::Failed { last_error: Arc::clone(error) };
            Inspected { token: *token, attempt: *attempt, owner: "".into(), fingerprint: None, state, expires_in }
        }
        State::Completed { record: Completed { token, attempt, fingerprint, result }, .. } => {
            let state = admin::State::Completed(of_result(result));
            let (owner, fingerprint) = ("".into(), *fingerprint);
            Inspected { token: *token, attempt: *attempt, owner, fingerprint, state, expires_in }
        }
    })
}

fn changed(state: &State, now: Moment, seen: &Inspected, change: &Change) -> State {
    let failed = |attempt, reason: &Arc<str>| {
        let expires = match state {
            State::InProgress(own) => own.retention.end(now),
            other => other.expires(),
        };
        // A token that no call has: the claim that stood here can neither renew nor complete.
        Failed { token: Token::random(), attempt, error: Arc::clone(reason), expires }.into()
    };
    match change {
        Change::Resolve { result, retention } => {
            let (token, attempt, fingerprint) = (seen.token, seen.attempt, seen.fingerprint);
            let record = Completed { token, attempt, fingerprint, result: result.clone() };
            State::Completed { record, expires: retention.end(now) }
        }
        Change::Release { reason } => failed(seen.runs(), reason),
        Change::AllowOneMore { reason } => failed(seen.runs().saturating_sub(1), reason),
    }
}
