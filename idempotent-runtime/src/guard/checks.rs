//! `existing` and `verify`: questions about the business that the handler's own future answers, ahead of its body.
//!
//! Both use the handler's arguments, so they stand in the same future as the body, in front of it. The guard and that
//! future talk through a phase: the future says what it found out and stops; the guard does what the answer asks for
//! and polls on.
//!
//! ```text
//! verify:    Verifying ─┬▶ Stands    the guard replays the record and drops the future
//!                       ├▶ Refuted   the guard claims in its place ─▶ Asking or Begun
//!                       └▶ Failed    the future returns the error
//! existing:  Asking ────┬▶ Exists    the future returns the value, which is recorded
//!                       ├▶ Begin     the guard begins the run ─▶ Begun
//!                       └▶ Failed    the future returns the error, the claim is put back
//! ```

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::context;
use crate::reply::Reply;

/// Where the talk between a guard and its future stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    Verifying,
    Stands,
    Refuted,
    Asking,
    Exists,
    Failed,
    Begin,
    Begun,
}

const PHASES: [Phase; 8] = [
    Phase::Verifying,
    Phase::Stands,
    Phase::Refuted,
    Phase::Asking,
    Phase::Exists,
    Phase::Failed,
    Phase::Begin,
    Phase::Begun,
];

/// What a guard and its future share, for handlers with `existing` or `verify` only.
#[derive(Debug)]
pub(crate) struct Checks(AtomicU8);

impl Checks {
    pub(crate) fn new(phase: Phase) -> Arc<Self> {
        Arc::new(Self(AtomicU8::new(phase as u8)))
    }

    pub(crate) fn phase(&self) -> Phase {
        // Both sides run inside the polls of one future, one after the other: the order needs no help.
        PHASES[usize::from(self.0.load(Ordering::Relaxed))]
    }

    pub(crate) fn set(&self, phase: Phase) {
        self.0.store(phase as u8, Ordering::Relaxed);
    }
}

/// What `existing` can be in a handler that returns `R`.
#[diagnostic::on_unimplemented(
    message = "`existing` cannot be `{Self}` where the function returns `{R}`",
    label = "not a future of `Result<Option<T>, E>`",
    note = "it is an asynchronous expression that the attribute awaits; it gives `Ok(Some(value))` where the effect is there already and `Ok(None)` where it is not, with the `T` and `E` of the function's `Result<T, E>`"
)]
pub trait Existing<R> {
    /// Polls the question.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer<R>>;
}

#[diagnostic::do_not_recommend]
impl<R: Reply, F: Future<Output = Result<Option<R::Value>, R::Error>>> Existing<R> for F {
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer<R>> {
        Future::poll(self, cx).map(|answer| match answer {
            Ok(Some(value)) => Answer::Return(Phase::Exists, R::from_value(value)),
            Ok(None) => Answer::Tell(Phase::Begin),
            Err(error) => Answer::Return(Phase::Failed, R::from_error(error)),
        })
    }
}

/// What `verify` can be in a handler that returns `R`.
#[diagnostic::on_unimplemented(
    message = "`verify` cannot be `{Self}` where the function returns `{R}`",
    label = "not a future of `Result<bool, E>`",
    note = "it is an asynchronous expression that the attribute awaits; it gives `Ok(true)` where the recorded effect is really there and `Ok(false)` where it is not, with the `E` of the function's `Result<T, E>`"
)]
pub trait Verify<R> {
    /// Polls the question.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer<R>>;
}

#[diagnostic::do_not_recommend]
impl<R: Reply, F: Future<Output = Result<bool, R::Error>>> Verify<R> for F {
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer<R>> {
        Future::poll(self, cx).map(|answer| match answer {
            Ok(true) => Answer::Tell(Phase::Stands),
            Ok(false) => Answer::Tell(Phase::Refuted),
            Err(error) => Answer::Return(Phase::Failed, R::from_error(error)),
        })
    }
}

/// What a question has found out.
#[derive(Debug)]
pub enum Answer<R> {
    /// This is the handler's reply.
    Return(Phase, R),
    /// The guard has to act on it before the body runs, if that is still to run.
    Tell(Phase),
}

/// Asks a question of a handler that returns `R`.
pub struct Ask<R>(PhantomData<R>);

impl<R> Ask<R> {
    /// `existing = expr`: asked after a claim, before the body. `Some` is the reply to return at once.
    ///
    /// A call that runs unguarded asks too: the effect may be there already.
    pub fn existing<F: Existing<R>>(check: F) -> Asked<R, F> {
        Asked { check, poll: F::poll, only_in: None, told: None }
    }

    /// `verify = expr`: asked before a completed record is replayed. `Some` is the reply to return at once.
    pub fn verify<F: Verify<R>>(check: F) -> Asked<R, F> {
        Asked { check, poll: F::poll, only_in: Some(Phase::Verifying), told: None }
    }
}

#[cfg(any(feature = "postgres", feature = "sqlite"))]
impl<R> Ask<R> {
    /// `existing = expr` of a call in its caller's transaction.
    pub async fn existing_within<F: Existing<R>>(check: F) -> Answer<R> {
        let mut check = std::pin::pin!(check);
        std::future::poll_fn(|cx| Existing::<R>::poll(check.as_mut(), cx)).await
    }

    /// `verify = expr` of a call in its caller's transaction.
    pub async fn verify_within<F: Verify<R>>(check: F) -> Answer<R> {
        let mut check = std::pin::pin!(check);
        std::future::poll_fn(|cx| Verify::<R>::poll(check.as_mut(), cx)).await
    }
}

pin_project! {
    /// A question that is being asked. Without bounds: [`Ask`] has checked them, once.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Asked<R, F> {
        #[pin]
        check: F,
        poll: fn(Pin<&mut F>, &mut Context<'_>) -> Poll<Answer<R>>,
        // The question is not asked in any other phase.
        only_in: Option<Phase>,
        // The guard was told, and is to move on from this phase.
        told: Option<Phase>,
    }
}

impl<R, F> Future for Asked<R, F> {
    type Output = Option<R>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<R>> {
        let this = self.project();
        let checks = context::checks();
        let phase = checks.as_ref().map(|checks| checks.phase());
        if let Some(told) = this.told {
            // The guard looks after every poll, so nothing needs waking.
            return if phase == Some(*told) { Poll::Pending } else { Poll::Ready(None) };
        }
        if this.only_in.is_some() && phase != *this.only_in {
            return Poll::Ready(None);
        }
        let answer = ready!((this.poll)(this.check, cx));
        let (Answer::Return(phase, _) | Answer::Tell(phase)) = answer;
        if let Some(checks) = &checks {
            checks.set(phase);
        }
        match answer {
            Answer::Return(_, reply) => Poll::Ready(Some(reply)),
            Answer::Tell(_) if checks.is_none() => Poll::Ready(None),
            Answer::Tell(_) => {
                *this.told = Some(phase);
                Poll::Pending
            }
        }
    }
}

impl<R, F> fmt::Debug for Asked<R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").field("told", &self.told).finish_non_exhaustive()
    }
}
