//! What was asked of a store, and what came of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::message::{Message, Operation};
use crate::key::Key;
use crate::store::{Answer, ClaimAnswer, CompleteAnswer, StoreErrorKind};
use crate::token::Token;

/// One call of a store's operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The operation.
    pub operation: Operation,
    /// The key that it was for.
    pub key: Key,
    /// The token that it carried.
    pub token: Token,
    /// What came of it.
    pub end: End,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing yet.
    Waiting,
    /// The store's answer reached the caller.
    Answered(Answered),
    /// The caller was told that there is no answer; with the store's own, where the fault lost that.
    Failed(StoreErrorKind, Option<Answered>),
    /// The caller went away before it had an answer.
    Dropped,
    /// It was applied by [`FaultyStore::deliver_late`](super::FaultyStore::deliver_late), with this answer to nobody.
    Late(Answered),
}

/// What a store answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// To a claim.
    Claim(ClaimAnswer),
    /// To `begin`, `renew`, `release` or `put_back`.
    Plain(Answer),
    /// To a completion.
    Complete(CompleteAnswer),
}

#[derive(Debug, Default)]
pub(super) struct History {
    calls: Mutex<Vec<Call>>,
    changed: watch::Sender<()>,
}

impl History {
    /// Enters a call, and gives its place.
    pub(super) fn enter(&self, message: &Message) -> usize {
        let Message { key, token, .. } = message;
        let call = Call { operation: message.operation(), key: key.clone(), token: *token, end: End::Waiting };
        let mut calls = self.lock();
        calls.push(call);
        let place = calls.len() - 1;
        drop(calls);
        self.changed.send_replace(());
        place
    }

    pub(super) fn end(&self, place: usize, end: End) {
        if let Some(call) = self.lock().get_mut(place) {
            call.end = end;
        }
        self.changed.send_replace(());
    }

    /// The caller goes away; what is known already stays.
    pub(super) fn leave(&self, place: usize) {
        if let Some(call) = self.lock().get_mut(place).filter(|call| call.end == End::Waiting) {
            call.end = End::Dropped;
        }
        self.changed.send_replace(());
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.lock().clone()
    }

    /// Waits until the calls so far are as wanted.
    pub(super) async fn until(&self, wanted: impl Fn(&[Call]) -> bool) {
        let mut changed = self.changed.subscribe();
        while !wanted(&self.lock()) {
            // The sender lives as long as the history.
            let _ = changed.changed().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
