//! Outcomes: what a call came to, and what to tell the broker.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;

use crate::context;
use crate::error::{Error, ErrorKind};
use crate::key::Key;

/// What a call came to.
///
/// [`with_outcome`] gives it; [`disposition`](Self::disposition) says what to do with the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    kind: OutcomeKind,
    attempt: Option<u32>,
    key: Option<Arc<str>>,
    retry_after: Option<Duration>,
}

/// The kinds of [`Outcome`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutcomeKind {
    /// The handler ran and its result is recorded (or, if the store would not take it, still being recorded).
    Executed,
    /// The handler's `existing` found the effect there already; its value is recorded, the handler did not run.
    Existing,
    /// A duplicate got the recorded value.
    Replayed,
    /// A duplicate got the default value (`on_duplicate = skip`).
    Skipped,
    /// The handler ran, but another run had completed meanwhile: its record stands.
    Lost,
    /// The handler returned an error and the claim was released.
    Failed,
    /// The handler returned an error that was recorded as the result, or a duplicate got that error.
    FailedForGood,
    /// The handler ran without a guard: in an outage under `on_outage = run`, or because the runtime is disabled. The
    /// flag says whether it returned `Ok`.
    Unguarded {
        /// Whether the handler returned `Ok`.
        ok: bool,
    },
    /// Nothing ran, or its answer cannot be given: the call returned an [`Error`] of this kind.
    Refused(ErrorKind),
    /// The future made no guarded call. The flag says whether it returned `Ok`.
    NoCall {
        /// Whether the future returned `Ok`.
        ok: bool,
    },
}

/// What to do with the message that a call was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// Acknowledge it: the action is done.
    Ack,
    /// Deliver it again, after this time. Not at once: a plain requeue would spin.
    RetryAfter(Duration),
    /// Put it aside: a person must look.
    DeadLetter,
}

/// The first delay after a failure; it doubles with every attempt.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// The longest delay after a failure.
const LONGEST_RETRY: Duration = Duration::from_mins(1);

impl Outcome {
    pub(crate) fn new(kind: OutcomeKind) -> Self {
        Self { kind, attempt: None, key: None, retry_after: None }
    }

    pub(crate) fn refused(error: &Error) -> Self {
        Self {
            kind: OutcomeKind::Refused(error.kind()),
            attempt: None,
            key: error.shared_key(),
            retry_after: error.retry_after(),
        }
    }

    pub(crate) fn of_run(mut self, key: &Key, attempt: u32) -> Self {
        self.key = Some(key.shared());
        self.attempt = Some(attempt);
        self
    }

    /// What kind of outcome it is.
    #[must_use]
    pub fn kind(&self) -> OutcomeKind {
        self.kind
    }

    /// Which run of the record it was, or was answered from; `None` where nothing is known of one.
    #[must_use]
    pub fn attempt(&self) -> Option<u32> {
        self.attempt
    }

    /// The record's key, unless it is unknown; a hidden one shows a digest of its parts.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The name in logs and metrics.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self.kind {
            OutcomeKind::Executed => "executed",
            OutcomeKind::Existing => "existing",
            OutcomeKind::Replayed => "replayed",
            OutcomeKind::Skipped => "skipped",
            OutcomeKind::Lost => "lost",
            OutcomeKind::Failed => "failed",
            OutcomeKind::FailedForGood => "failed_for_good",
            OutcomeKind::Unguarded { .. } => "unguarded",
            OutcomeKind::Refused(kind) => kind.as_str(),
            OutcomeKind::NoCall { .. } => "no_call",
        }
    }

    /// What to do with the message, for any broker.
    ///
    /// | outcome | disposition |
    /// |---|---|
    /// | executed, existing, replayed, skipped, lost; duplicate, result unavailable | `Ack` |
    /// | busy, store unavailable, claim lost, timed out, transaction conflict | `RetryAfter` |
    /// | failed | `RetryAfter`: one second, doubled with every attempt, at most a minute |
    /// | failed for good; mismatch, indeterminate, exhausted, unreadable, missing key part, fingerprint | `DeadLetter` |
    /// | no runtime installed, a setting that cannot be used, a transaction that had failed already | `RetryAfter` a minute: the deployment is wrong, not the message |
    /// | unguarded, no call | as the run itself: `Ok` is `Ack`, `Err` is `RetryAfter` |
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self.kind {
            OutcomeKind::Executed
            | OutcomeKind::Existing
            | OutcomeKind::Replayed
            | OutcomeKind::Skipped
            | OutcomeKind::Lost
            | OutcomeKind::Unguarded { ok: true }
            | OutcomeKind::NoCall { ok: true } => Disposition::Ack,
            OutcomeKind::Failed | OutcomeKind::Unguarded { .. } | OutcomeKind::NoCall { .. } => self.after_failure(),
            OutcomeKind::FailedForGood => Disposition::DeadLetter,
            OutcomeKind::Refused(kind) => match kind {
                ErrorKind::Duplicate | ErrorKind::ResultUnavailable => Disposition::Ack,
                ErrorKind::Busy
                | ErrorKind::StoreUnavailable
                | ErrorKind::ClaimLost
                | ErrorKind::TimedOut
                | ErrorKind::TransactionConflict => Disposition::RetryAfter(self.retry_after.unwrap_or(FIRST_RETRY)),
                ErrorKind::NotInstalled
                | ErrorKind::AlreadyInstalled
                | ErrorKind::Configuration
                | ErrorKind::TransactionFailed => Disposition::RetryAfter(LONGEST_RETRY),
                ErrorKind::Mismatch
                | ErrorKind::Failed
                | ErrorKind::Indeterminate
                | ErrorKind::Exhausted
                | ErrorKind::Unreadable
                | ErrorKind::MissingKeyPart
                | ErrorKind::Fingerprint => Disposition::DeadLetter,
            },
        }
    }

    fn after_failure(&self) -> Disposition {
        let doublings = self.attempt.unwrap_or(1).saturating_sub(1).min(6);
        Disposition::RetryAfter((FIRST_RETRY * (1 << doublings)).min(LONGEST_RETRY))
    }
}

/// Runs `future` and tells what its outermost guarded call came to; the last one, where there are several.
///
/// ```
/// use std::time::Duration;
/// use idempotent_runtime::{Disposition, Error, Idempotency, OutcomeKind, with_outcome};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let idempotency = Idempotency::memory();
/// for expected in [OutcomeKind::Executed, OutcomeKind::Replayed] {
///     let call = idempotency.call("order:consume").key(1001).ttl(Duration::from_mins(1));
///     let (result, outcome) = with_outcome(call.run(async { Ok::<_, Error>(12) })).await;
///     assert_eq!(result.unwrap(), 12);
///     assert_eq!(outcome.kind(), expected);
///     assert_eq!(outcome.disposition(), Disposition::Ack);
/// }
/// # }
/// ```
pub fn with_outcome<F, T, E>(future: F) -> WithOutcome<F>
where
    F: Future<Output = Result<T, E>>,
{
    WithOutcome { future, recorder: Arc::default() }
}

pin_project! {
    /// The future of [`with_outcome`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct WithOutcome<F> {
        #[pin]
        future: F,
        recorder: Arc<Recorder>,
    }
}

impl<F, T, E> Future for WithOutcome<F>
where
    F: Future<Output = Result<T, E>>,
{
    type Output = (Result<T, E>, Outcome);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        context::heard_by(this.recorder, || this.future.poll(cx)).map(|result| {
            let outcome = this.recorder.take().unwrap_or(Outcome::new(OutcomeKind::NoCall { ok: result.is_ok() }));
            (result, outcome)
        })
    }
}

/// Hears the outcome of an outermost call.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Option<Outcome>>);

impl Recorder {
    pub(crate) fn record(&self, outcome: Outcome) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    }

    fn take(&self) -> Option<Outcome> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_and_end_at_a_minute() {
        let delay = |attempt| Outcome::new(OutcomeKind::Failed).of_run(&Key::from_text("k"), attempt).disposition();
        let seconds = |n| Disposition::RetryAfter(Duration::from_secs(n));
        assert_eq!([delay(1), delay(2), delay(6), delay(7), delay(u32::MAX)], [1, 2, 32, 60, 60].map(seconds));
    }
}
