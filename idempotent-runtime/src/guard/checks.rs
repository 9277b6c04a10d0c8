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

use std::future::{Future, pending, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::Poll;

use crate::context;
use crate::reply::Reply;

/// Where the talk between a guard and its future stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
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

    /// Says `phase` and stops until the guard has moved on from it. The guard looks after every poll, so nothing needs
    /// waking.
    async fn say(&self, phase: Phase) {
        self.set(phase);
        poll_fn(|_| if self.phase() == phase { Poll::Pending } else { Poll::Ready(()) }).await;
    }
}

/// `verify = expr`: asked before a completed record is replayed. `Some` is the reply to return at once.
pub async fn verify<R, F>(check: F) -> Option<R>
where
    R: Reply,
    F: Future<Output = Result<bool, R::Error>>,
{
    let checks = context::checks().filter(|checks| checks.phase() == Phase::Verifying)?;
    match check.await {
        Ok(true) => {
            checks.set(Phase::Stands);
            pending().await
        }
        Ok(false) => {
            checks.say(Phase::Refuted).await;
            None
        }
        Err(error) => {
            checks.set(Phase::Failed);
            Some(R::from_error(error))
        }
    }
}

/// `existing = expr`: asked after a claim, before the body. `Some` is the reply to return at once.
///
/// A call that runs unguarded asks too: the effect may be there already.
pub async fn existing<R, F>(check: F) -> Option<R>
where
    R: Reply,
    F: Future<Output = Result<Option<R::Value>, R::Error>>,
{
    let checks = context::checks();
    let found = check.await;
    let say = |phase| {
        if let Some(checks) = &checks {
            checks.set(phase);
        }
    };
    match found {
        Ok(Some(value)) => {
            say(Phase::Exists);
            Some(R::from_value(value))
        }
        Ok(None) => {
            if let Some(checks) = &checks {
                checks.say(Phase::Begin).await;
            }
            None
        }
        Err(error) => {
            say(Phase::Failed);
            Some(R::from_error(error))
        }
    }
}
