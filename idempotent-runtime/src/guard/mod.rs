//! The guard: one call from its claim to its end.
//!
//! It drives a handler's future through these stages, and alone calls the store's claiming operations:
//!
//! ```text
//! fresh ─▶ claiming ─┬▶ running ─▶ settling ─▶ ended
//!                    ├▶ unguarded ───────────▶ ended
//!                    └▶ answered or refused ─▶ ended
//! ```
//!
//! Any await may be the last. Dropped while fresh, nothing was claimed. Dropped while claiming, what may have been
//! claimed is put back ([`owned::Asked`]). Dropped, or unwound by a panic, while running, the claim is released; while
//! settling, the settlement is finished ([`owned::Owned`]); both in the background, by the keeper.

mod ask;
pub(crate) mod backoff;
mod claim;
mod owned;
mod settle;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tracing::Span;

use self::claim::{Decision, Wanted};
use self::owned::Owned;
use self::settle::Settled;
use crate::codec::ResultRef;
use crate::context;
use crate::error::{Error, ErrorKind};
use crate::fingerprint::Fingerprint;
use crate::idempotency::{Core, Mode};
use crate::keeper::Work;
use crate::key::Key;
use crate::lease::Standing;
use crate::observe;
use crate::outcome::{Outcome, OutcomeKind, Recorder};
use crate::policy::{LONGEST_LEASE, OnDuplicate, OnLost, Policy, SHORTEST, Ttl};
use crate::record::{Completed, Encoded, NoResult, Recorded};
use crate::store::Retention;

/// One call, whatever its types.
pub(crate) struct Guard {
    core: Arc<Core>,
    wanted: Arc<Wanted>,
    recorder: Option<Arc<Recorder>>,
    span: Span,
    observed: observe::Call,
    stage: Stage,
}

enum Stage {
    Fresh,
    Claiming(Pin<Box<dyn Future<Output = Decision> + Send>>),
    Running(Owned),
    Unguarded,
    Settling { settling: Pin<Box<dyn Future<Output = Settled> + Send>>, attempt: u32, kind: OutcomeKind },
    Ended,
}

/// What to do before the body is polled.
pub(crate) enum Before {
    /// Poll it, inside [`Guard::inside`].
    Poll,
    /// Do not run it, or run it no further: answer from this record.
    Answer(Box<Completed>),
    /// Do not run it, or run it no further: this is the answer.
    Refuse(Error),
}

/// How a body ended.
pub(crate) enum Ending {
    /// With a value, to be recorded so.
    Value(Recorded),
    /// With an error, for people to see so.
    Failure(&'static str),
}

impl Guard {
    /// Checks what a call asks for, and prepares it. Nothing is claimed before the first poll.
    pub(crate) fn new(
        core: Arc<Core>,
        key: Key,
        fingerprint: Option<Fingerprint>,
        policy: Policy,
    ) -> Result<Self, Error> {
        check(&policy).map_err(|error| error.key(key.as_str()))?;
        let span = observe::span(&key, &core.owner);
        let wanted = Arc::new(Wanted { key, fingerprint, policy });
        Ok(Self { core, wanted, recorder: None, span, observed: observe::Call::default(), stage: Stage::Fresh })
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn key(&self) -> &Key {
        &self.wanted.key
    }

    pub(crate) fn on_duplicate(&self) -> OnDuplicate {
        self.wanted.policy.on_duplicate
    }

    /// Drives the call to the next poll of the body, or to an answer without one.
    pub(crate) fn poll_before(&mut self, cx: &mut Context<'_>) -> Poll<Before> {
        loop {
            match &mut self.stage {
                Stage::Fresh => {
                    self.recorder = context::recorder();
                    self.stage = match self.core.mode {
                        Mode::Disabled => Stage::Unguarded,
                        Mode::Guarded => {
                            let claiming = claim::claim(Arc::clone(&self.core), Arc::clone(&self.wanted));
                            Stage::Claiming(Box::pin(claiming))
                        }
                    };
                }
                Stage::Claiming(claiming) => match ready!(claiming.as_mut().poll(cx)) {
                    Decision::Run(owned) => {
                        self.observed.running(&self.wanted.key);
                        self.stage = Stage::Running(owned);
                    }
                    Decision::Unguarded => self.stage = Stage::Unguarded,
                    Decision::Answer(completed) => {
                        self.stage = Stage::Ended;
                        return Poll::Ready(Before::Answer(Box::new(completed)));
                    }
                    Decision::Refuse(error) => return Poll::Ready(self.refuse(error)),
                },
                Stage::Running(owned) => {
                    let standing = owned.lease().standing(cx);
                    return match (standing, self.wanted.policy.on_lost) {
                        (Standing::Held, _) | (Standing::Silent(_), OnLost::Cancel) | (_, OnLost::Finish) => {
                            owned.otherwise(Work::Fail(DROPPED.into()));
                            Poll::Ready(Before::Poll)
                        }
                        (Standing::Silent(time), OnLost::Strict) if time < owned.lease().length => Poll::Pending,
                        (Standing::InDoubt, _) => {
                            owned.hurry();
                            Poll::Pending
                        }
                        (Standing::Lost | Standing::Silent(_), _) => Poll::Ready(self.lose()),
                    };
                }
                Stage::Unguarded => return Poll::Ready(Before::Poll),
                Stage::Settling { .. } | Stage::Ended => panic!("a call was polled after it had ended"),
            }
        }
    }

    /// Polls the body under its claim. If it panics, the claim is released at once.
    pub(crate) fn inside<T>(&mut self, poll: impl FnOnce() -> T) -> T {
        struct Panicked<'a>(Option<&'a mut Guard>);
        impl Drop for Panicked<'_> {
            fn drop(&mut self) {
                if let Some(guard) = self.0.take() {
                    guard.panicked();
                }
            }
        }
        let lease = match &self.stage {
            Stage::Running(owned) => Some(Arc::clone(owned.lease())),
            _ => None,
        };
        let mut bomb = Panicked(Some(self));
        let polled = context::inside(lease.as_ref(), poll);
        bomb.0 = None;
        polled
    }

    fn panicked(&mut self) {
        if let Stage::Running(mut owned) = std::mem::replace(&mut self.stage, Stage::Ended) {
            owned.otherwise(Work::Fail("the handler panicked".into()));
            drop(owned);
        }
        self.end(&Outcome::new(OutcomeKind::Failed));
    }

    /// The body has returned, and is about to be judged: from here on its effect stands, so a call that goes away is
    /// completed.
    pub(crate) fn returned(&mut self, ok: bool) {
        self.observed.stopped();
        if let Stage::Running(owned) = &mut self.stage
            && ok
        {
            let nothing = Recorded::Nothing(NoResult::NotSerialisable);
            owned.otherwise(Work::Complete(nothing, completed_retention(&self.wanted.policy)));
        }
    }

    /// Writes a value with the runtime's codec; a value that cannot be written is recorded as such.
    pub(crate) fn encode(&self, value: &dyn erased_serde::Serialize) -> Recorded {
        let codec = self.core.codec();
        match codec.encode(ResultRef::erased(value)) {
            Ok(bytes) if bytes.len() > self.core.settings.max_result_bytes => {
                observe::no_result(&self.wanted.key, &format_args!("{} bytes are too many", bytes.len()));
                Recorded::Nothing(NoResult::TooLarge)
            }
            Ok(bytes) => Recorded::Value(Encoded { codec: codec.tag(), bytes: bytes.into() }),
            Err(error) => {
                observe::no_result(&self.wanted.key, &error);
                Recorded::Nothing(NoResult::NotSerialisable)
            }
        }
    }

    /// Starts to settle a call whose body has returned and was dropped.
    pub(crate) fn settle(&mut self, ending: Ending) {
        let kind = match ending {
            Ending::Value(_) => OutcomeKind::Executed,
            Ending::Failure(_) => OutcomeKind::Failed,
        };
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Running(mut owned) => {
                let attempt = owned.lease().attempt;
                owned.otherwise(match ending {
                    Ending::Value(recorded) => Work::Complete(recorded, completed_retention(&self.wanted.policy)),
                    Ending::Failure(reason) => Work::Fail(reason.into()),
                });
                let settling = Box::pin(settle::settle(Arc::clone(&self.core), owned, Arc::clone(&self.wanted)));
                self.stage = Stage::Settling { settling, attempt, kind };
            }
            _ => self.end(&Outcome::new(OutcomeKind::Unguarded { ok: kind == OutcomeKind::Executed })),
        }
    }

    /// Waits for the settlement.
    pub(crate) fn poll_settled(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Stage::Settling { settling, attempt, kind } = &mut self.stage {
            let settled = ready!(settling.as_mut().poll(cx));
            let kind = if settled == Settled::Lost { OutcomeKind::Lost } else { *kind };
            let outcome = Outcome::new(kind).of_run(self.wanted.key.as_str(), *attempt);
            self.stage = Stage::Ended;
            self.end(&outcome);
        }
        Poll::Ready(())
    }

    /// Tells everybody who listens what the call came to.
    pub(crate) fn end(&mut self, outcome: &Outcome) {
        self.observed.ended(&self.span, &self.wanted.key, outcome);
        if let Some(recorder) = self.recorder.take() {
            recorder.record(outcome.clone());
        }
    }

    pub(crate) fn refuse(&mut self, error: Error) -> Before {
        self.stage = Stage::Ended;
        self.end(&Outcome::refused(&error));
        Before::Refuse(error)
    }

    /// Another run has taken over, or may have: there is nothing of ours left to give back.
    fn lose(&mut self) -> Before {
        if let Stage::Running(owned) = std::mem::replace(&mut self.stage, Stage::Ended) {
            observe::claim_lost(&self.wanted.key);
            owned.ended();
        }
        let error = Error::new(ErrorKind::ClaimLost).key(self.wanted.key.as_str());
        self.refuse(error)
    }
}

const DROPPED: &str = "the call was dropped before the handler returned";

fn completed_retention(policy: &Policy) -> Retention {
    match policy.ttl {
        Ttl::For(ttl) => Retention::For(ttl),
        Ttl::Forever | Ttl::PerCall => Retention::Forever,
    }
}

/// The bounds of durations: the attribute checks those that it can read, a call checks all.
fn check(policy: &Policy) -> Result<(), Error> {
    let too = |name: &str, value: Duration, bound: &str| {
        Err(Error::configuration(format!("`{name}` of {value:?} is {bound}")))
    };
    match policy.ttl {
        Ttl::For(ttl) if ttl < SHORTEST => return too("ttl", ttl, "too short: use 10 ms or more"),
        Ttl::PerCall => return Err(Error::configuration("`ttl` is missing; call `.ttl(…)` before `.run(…)`")),
        Ttl::For(_) | Ttl::Forever => {}
    }
    match policy.lease {
        lease if lease < SHORTEST => too("lease", lease, "too short: use 10 ms or more"),
        lease if lease > LONGEST_LEASE => too("lease", lease, "too long: a day at the most"),
        _ => Ok(()),
    }
}
