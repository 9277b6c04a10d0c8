//! Errands: the ends of calls that their callers do not wait for.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{Counted, Enlisted};
use crate::guard::backoff::{Backoff, jittered};
use crate::key::Key;
use crate::lease::Lease;
use crate::observe;
use crate::record::{Completed, Recorded};
use crate::store::{Answer, CompleteAnswer, Release, Reply, Retention, Store, StoreError};
use crate::token::Token;

/// One operation to be repeated until the store answers, or it is of no use any more.
#[derive(Debug)]
pub(crate) struct Errand {
    key: Key,
    token: Token,
    lease: Duration,
    work: Work,
    /// How long it is of use: a claim that was never acquired lapses by itself after a lease; one that was leaves a mark
    /// in its record, for as long as that is kept.
    useful: Retention,
    /// The lease goes on being renewed until the store has answered.
    enlisted: Option<Enlisted>,
    counted: Option<Counted>,
}

/// What is to be done.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Give back a claim whose run failed.
    Fail(Cow<'static, str>),
    /// Leave a claim for a person to resolve.
    GiveUp,
    /// Undo a claim whose body was never polled.
    PutBack(Option<Box<(Completed, Retention)>>),
    /// Record the result.
    Complete(Recorded, Retention),
}

impl Work {
    /// The name in metrics.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Fail(_) | Self::GiveUp => "release",
            Self::PutBack(_) => "put_back",
            Self::Complete(..) => "complete",
        }
    }

    /// The message that gives a claim back. A completion gives nothing back: it is sent by those who read its answer.
    pub(crate) fn give_back<'a>(
        &'a self,
        store: &'a dyn Store,
        key: &'a Key,
        token: Token,
        lease: Duration,
    ) -> Reply<'a, Answer> {
        match self {
            Self::Fail(reason) => store.release(key, token, Release::Failed(reason), lease),
            Self::GiveUp => store.release(key, token, Release::GivenUp, lease),
            Self::PutBack(superseded) => {
                let superseded = superseded.as_deref().map(|(record, retention)| (record, *retention));
                store.put_back(key, token, lease, superseded)
            }
            Self::Complete(..) => unreachable!("a completion is no way to give a claim back"),
        }
    }
}

impl Errand {
    /// For a claim whose answer never came.
    pub(crate) fn unanswered(key: Key, token: Token, lease: Duration, work: Work) -> Self {
        Self { key, token, lease, work, useful: Retention::For(lease), enlisted: None, counted: None }
    }

    /// For a claim that was acquired, and whose record is kept for `kept`.
    pub(crate) fn acquired(lease: &Lease, work: Work, kept: Retention, enlisted: Option<Enlisted>) -> Self {
        let Lease { key, token, length, .. } = lease;
        Self { key: key.clone(), token: *token, lease: *length, work, useful: kept, enlisted, counted: None }
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    pub(super) fn is_enlisted(&self) -> bool {
        self.enlisted.is_some()
    }

    pub(super) fn counted(mut self, counted: Option<Counted>) -> Self {
        self.counted = counted;
        self
    }

    /// Tries once, without waiting: whether the store has answered.
    pub(super) fn at_once(&self, store: &Arc<dyn Store>) -> bool {
        let mut once = std::pin::pin!(self.once(&**store));
        match once.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(answer)) => {
                self.note(answer);
                true
            }
            Poll::Ready(Err(_)) | Poll::Pending => false,
        }
    }

    /// Repeats the operation until the store answers, each time waiting for `patience`, for as long as that is of use; a
    /// completion goes on while the claim is ours.
    pub(super) async fn run(self, store: Arc<dyn Store>, patience: Duration) {
        let started = tokio::time::Instant::now();
        let repeat = async {
            let mut backoff = Backoff::new();
            loop {
                match tokio::time::timeout(patience, self.once(&*store)).await {
                    Ok(Ok(answer)) => return self.note(answer),
                    Ok(Err(error)) => tracing::debug!(key = %self.key, %error, "the end of a call was not answered"),
                    Err(_) => tracing::debug!(key = %self.key, "the end of a call was not answered in time"),
                }
                if self.enlisted.as_ref().is_some_and(|enlisted| enlisted.lease().is_lost()) {
                    return self.note(Answer::Lost);
                }
                // In a long outage nobody waits for it any more.
                let long = started.elapsed() > self.lease;
                let pause = if long { jittered(self.lease / 12) } else { Duration::ZERO };
                tokio::time::sleep(pause.max(backoff.step())).await;
            }
        };
        match self.useful {
            Retention::For(time) if !matches!(self.work, Work::Complete(..)) => {
                if tokio::time::timeout(time, repeat).await.is_err() {
                    tracing::warn!(key = %self.key, "a claim could not be given back; it will lapse");
                }
            }
            Retention::For(_) | Retention::Forever => repeat.await,
        }
    }

    async fn once(&self, store: &dyn Store) -> Result<Answer, StoreError> {
        match &self.work {
            Work::Complete(result, retention) => {
                let answer = store.complete(&self.key, self.token, result, *retention).await?;
                Ok(if answer == CompleteAnswer::Held { Answer::Held } else { Answer::Lost })
            }
            work => work.give_back(store, &self.key, self.token, self.lease).await,
        }
    }

    fn note(&self, answer: Answer) {
        match (&self.work, answer) {
            (Work::Complete(..), Answer::Lost) => observe::completion_lost(&self.key),
            (Work::Complete(..), Answer::Held) => tracing::debug!(key = %self.key, "completed in the background"),
            _ => tracing::debug!(key = %self.key, ?answer, "a claim was given back in the background"),
        }
    }
}
