//! A body that runs under a claim: whether it may be polled, and what its claim becomes if it is not polled to its end.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::Sleep;

use super::owned::Owned;
use crate::keeper::Work;
use crate::lease::{Lease, Standing};
use crate::policy::{OnCrash, OnLost, Policy};

pub(super) struct Running {
    owned: Owned,
    on_crash: OnCrash,
    /// The end of the run's time, from the first poll of its body.
    timeout: Option<Pin<Box<Sleep>>>,
    /// The body was polled: its effect may have begun.
    polled: bool,
}

/// Whose turn it is.
pub(super) enum Turn {
    Body,
    Lost,
    TimedOut,
}

impl Running {
    pub(super) fn new(owned: Owned, policy: &Policy) -> Self {
        Self { owned, on_crash: policy.on_crash, timeout: None, polled: false }
    }

    pub(super) fn lease(&self) -> &Arc<Lease> {
        self.owned.lease()
    }

    pub(super) fn into_owned(self) -> Owned {
        self.owned
    }

    pub(super) fn otherwise(&mut self, work: Work) {
        self.owned.otherwise(work);
    }

    /// Whether the body may be polled: strictly before the deadline, or with the store's word. `begun` says that it is
    /// the body's turn, not that of a check in front of it.
    pub(super) fn poll_turn(&mut self, cx: &mut Context<'_>, policy: &Policy, begun: bool) -> Poll<Turn> {
        if self.timed_out(cx) {
            return Poll::Ready(Turn::TimedOut);
        }
        let lease = self.owned.lease();
        match (lease.standing(cx), policy.on_lost) {
            (Standing::Held, _) | (Standing::Silent(_), OnLost::Cancel) | (_, OnLost::Finish) => {}
            (Standing::InDoubt, _) => {
                self.owned.hurry();
                return Poll::Pending;
            }
            // The deadline is a sixth of the lease before its end.
            (Standing::Silent(time), OnLost::Strict) if time < lease.length / 6 => return Poll::Pending,
            (Standing::Lost | Standing::Silent(_), _) => return Poll::Ready(Turn::Lost),
        }
        if begun && !self.polled {
            self.polled = true;
            self.owned.otherwise(self.unfinished("the call was dropped before the handler returned"));
            if let Some(timeout) = policy.timeout {
                self.timeout = Some(Box::pin(tokio::time::sleep(timeout)));
                if self.timed_out(cx) {
                    return Poll::Ready(Turn::TimedOut);
                }
            }
        }
        Poll::Ready(Turn::Body)
    }

    /// Ends the claim of a body that panicked.
    pub(super) fn panicked(mut self) {
        if self.polled {
            self.owned.otherwise(self.unfinished("the handler panicked"));
        }
    }

    /// What becomes of a run that stopped half way.
    fn unfinished(&self, reason: &'static str) -> Work {
        match self.on_crash {
            OnCrash::Rerun => Work::Fail(reason.into()),
            OnCrash::Hold => Work::GiveUp,
        }
    }

    fn timed_out(&mut self, cx: &mut Context<'_>) -> bool {
        self.timeout.as_mut().is_some_and(|timeout| timeout.as_mut().poll(cx).is_ready())
    }
}
