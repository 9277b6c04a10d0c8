//! Calls of one process that are in flight under one key: one of them asks the store, and its answer is that of all.
//!
//! Whoever comes first leads: it claims, runs, and completes as ever. Those who come while it does follow: they are told
//! what the store told it, or that its run is in progress, and get its record when it completes. Nobody follows into a
//! claim: when a leader ends in any other way (an error, a panic, a dropped future, a lost lease), those who wait come
//! back, and one of them leads.
//!
//! A follower claims nothing, so it has nothing to give back. It believes its leader no longer than the leader itself
//! may: once the lease is in doubt, or the leader is not polled and its question stays open, it asks the store itself.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::claim::{Wanted, on_lapse};
use crate::fingerprint::Fingerprint;
use crate::key::Key;
use crate::lease::Lease;
use crate::record::Completed;
use crate::store::{ClaimAnswer, OnLapse, StoreError, StoreErrorKind};
use crate::token::Token;

/// The calls in flight of one handle.
#[derive(Debug, Default)]
pub(crate) struct Flights(Mutex<HashMap<Question, watch::Sender<News>>>);

/// What a store's answer depends on besides the record. Calls that differ in it do not follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question {
    key: Key,
    fingerprint: Option<Fingerprint>,
    on_lapse: OnLapse,
    max_attempts: Option<NonZeroU32>,
    supersede: Option<Token>,
}

impl Question {
    fn of(wanted: &Wanted, supersede: Option<Token>) -> Self {
        let Wanted { key, fingerprint, policy } = wanted;
        Self {
            key: key.clone(),
            fingerprint: *fingerprint,
            on_lapse: on_lapse(policy),
            max_attempts: policy.max_attempts,
            supersede,
        }
    }
}

/// What followers know of their leader.
#[derive(Clone, Debug)]
enum News {
    /// It has asked the store.
    Asking,
    /// It has claimed.
    Claimed(Arc<Lease>),
    /// It got this answer, and no claim.
    Answered(ClaimAnswer),
    /// The store was away.
    Outage(Arc<StoreError>),
    /// It has completed.
    Completed(Arc<Completed>),
    /// It has ended in another way.
    Over,
}

/// A call's part.
pub(super) enum Part {
    /// In a box, which keeps the claims small of all who are alone.
    Lead(Box<Lead>),
    Follow(Following),
}

/// What a follower learns.
pub(super) enum Learned {
    /// As if the store had said so.
    Answer(ClaimAnswer),
    /// The store was away.
    Outage(StoreError),
    /// A run of this process is in progress, under this lease.
    InProgress(Arc<Lease>),
    /// Nothing that is of use to others: try to lead.
    Nothing,
    /// The leader does not know by itself.
    Doubt,
}

impl Flights {
    /// Leads, or follows who leads already.
    pub(super) fn join(self: &Arc<Self>, wanted: &Wanted, supersede: Option<Token>) -> Part {
        let question = Question::of(wanted, supersede);
        let mut all = self.lock();
        if let Some(news) = all.get(&question) {
            return Part::Follow(Following(news.subscribe()));
        }
        let news = watch::Sender::new(News::Asking);
        all.insert(question.clone(), news.clone());
        drop(all);
        Part::Lead(Box::new(Lead { flights: Arc::clone(self), question, news }))
    }

    /// The attempt of a run of this process that is in progress, and what is left of its lease, for a call that would
    /// follow it and wait for nothing. `None` also where its leader does not know by itself.
    pub(super) fn in_progress(&self, wanted: &Wanted) -> Option<(u32, Duration)> {
        let all = self.lock();
        let news = all.get(&Question::of(wanted, None))?.borrow();
        let News::Claimed(lease) = &*news else { return None };
        let remaining = lease.remaining();
        (!remaining.is_zero()).then_some((lease.attempt, remaining))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Question, watch::Sender<News>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The call that asks. Dropped, it lets its followers ask themselves.
#[derive(Debug)]
pub(super) struct Lead {
    flights: Arc<Flights>,
    question: Question,
    news: watch::Sender<News>,
}

impl Lead {
    /// The claim is this call's.
    pub(super) fn claimed(&self, lease: &Arc<Lease>) {
        self.news.send_replace(News::Claimed(Arc::clone(lease)));
    }

    /// The store answered, and gave no claim.
    pub(super) fn answered(self, answer: &ClaimAnswer) {
        self.end(News::Answered(answer.clone()));
    }

    /// The store was away.
    pub(super) fn outage(self, error: StoreError) -> StoreError {
        let error = Arc::new(error);
        self.end(News::Outage(Arc::clone(&error)));
        shared(error)
    }

    /// The record is completed, and the store has it.
    pub(super) fn completed(self, completed: Completed) {
        self.end(News::Completed(Arc::new(completed)));
    }

    fn end(&self, news: News) {
        // Gone from the table first: who follows from here on would get old news.
        self.flights.lock().remove(&self.question);
        self.news.send_replace(news);
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if matches!(*self.news.borrow(), News::Asking | News::Claimed(_)) {
            self.end(News::Over);
        }
    }
}

/// A call that asks nobody, while another does.
pub(super) struct Following(watch::Receiver<News>);

impl Following {
    /// Waits for the leader's answer from the store, `patience` at the most.
    pub(super) async fn learn(&mut self, patience: Duration) -> Learned {
        let answered = self.0.wait_for(|news| !matches!(news, News::Asking));
        let Ok(Ok(news)) = timeout(patience, answered).await else { return Learned::Doubt };
        match &*news {
            News::Asking => Learned::Doubt,
            News::Claimed(lease) if lease.remaining().is_zero() => Learned::Doubt,
            News::Claimed(lease) => Learned::InProgress(Arc::clone(lease)),
            News::Answered(answer) => Learned::Answer(answer.clone()),
            News::Outage(error) => Learned::Outage(shared(Arc::clone(error))),
            News::Completed(completed) => Learned::Answer(ClaimAnswer::Completed(Completed::clone(completed))),
            News::Over => Learned::Nothing,
        }
    }

    /// Waits for the end of the leader's run, `at_most` so long.
    pub(super) async fn ended(&mut self, at_most: Duration) {
        let ended = self.0.wait_for(|news| !matches!(news, News::Asking | News::Claimed(_)));
        let _ = timeout(at_most, ended).await;
    }
}

/// An error that several calls have.
fn shared(error: Arc<StoreError>) -> StoreError {
    match error.kind() {
        StoreErrorKind::Unavailable => StoreError::unavailable(Shared(error)),
        _ => StoreError::refused(Shared(error)),
    }
}

/// What stands behind an error of the store, which says already what kind it is.
#[derive(Debug)]
struct Shared(Arc<StoreError>);

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::error::Error::source(&*self.0) {
            Some(cause) => fmt::Display::fmt(cause, f),
            None => fmt::Display::fmt(&self.0, f),
        }
    }
}

impl std::error::Error for Shared {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&*self.0).and_then(std::error::Error::source)
    }
}
