//! The guard: one call from its claim to its end.
//!
//! It drives a handler's future through these stages, and alone calls the store's claiming operations:
//!
//! ```text
//! fresh ─▶ claiming ─┬▶ (beginning) ─▶ running ─▶ settling ─▶ ended
//!            ▲       ├▶ unguarded ──────────────────────────▶ ended
//!            │       ├▶ verifying ─▶ answered ──────────────▶ ended
//!            └───────┼──── refuted
//!                    └▶ answered or refused ────────────────▶ ended
//! ```
//!
//! Any await may be the last. Dropped while fresh, nothing was claimed. Dropped while claiming, what may have been
//! claimed is put back ([`owned::Asked`]). Dropped, or unwound by a panic, while running, the claim is released, or
//! given up under `hold`; while settling, the settlement is finished ([`owned::Owned`]); all in the background, by the
//! keeper.

mod ask;
pub(crate) mod backoff;
pub(crate) mod checks;
mod claim;
pub(crate) mod flight;
pub(crate) mod import;
mod owned;
#[cfg(feature = "cache")]
pub(crate) mod recent;
mod running;
mod settle;
mod shadow;
mod waiting;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod within;

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tracing::Span;

use self::checks::{Checks, Phase};
use self::claim::{Decision, Wanted, completed_retention};
use self::owned::Owned;
use self::running::{Running, Turn};
use self::settle::Settled;
use crate::codec::ResultRef;
use crate::context;
use crate::error::{Error, ErrorKind};
use crate::fingerprint::Fingerprint;
use crate::idempotency::{Core, Mode};
use crate::keeper::Work;
use crate::key::Key;
use crate::observe;
use crate::outcome::{Outcome, OutcomeKind, Recorder};
use crate::policy::{LONGEST_LEASE, OnDuplicate, Policy, SHORTEST, Ttl};
use crate::record::{CodecTag, Completed, Encoded, NoResult, Recorded};

/// One call, whatever its types.
pub(crate) struct Guard {
    mode: Mode,
    core: Arc<Core>,
    wanted: Arc<Wanted>,
    checks: Option<Arc<Checks>>,
    recorder: Option<Arc<Recorder>>,
    span: Span,
    observed: observe::Call,
    stage: Stage,
}

type Step<T> = Pin<Box<dyn Future<Output = T> + Send>>;

enum Stage {
    Fresh,
    Claiming(Step<Decision>),
    Verifying(Box<Completed>),
    Answering(Box<Completed>),
    Beginning(Step<Result<Option<Owned>, Error>>),
    Running(Running),
    Unguarded,
    Settling { settling: Step<Settled>, attempt: u32, kind: OutcomeKind },
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
    /// With an error that is its result, to be recorded so.
    Final(Recorded),
    /// With an error after which a retry may run; for people to see so.
    Failure(Cow<'static, str>),
    /// Where nobody can know what it did: the claim is held, as after a crash under `hold`.
    #[cfg(feature = "http")]
    GivenUp,
}

impl Guard {
    /// Checks what a call asks for, and prepares it. Nothing is claimed before the first poll.
    pub(crate) fn new(
        core: Arc<Core>,
        key: Key,
        fingerprint: Option<Fingerprint>,
        policy: Policy,
    ) -> Result<Self, Error> {
        check(&policy).map_err(|error| error.key(key.shared()))?;
        let mode = core.mode;
        let policy = if mode == Mode::Shadow { shadow::policy(policy) } else { policy };
        let span = observe::span(&key, &core.owner);
        let checks = (policy.verify || policy.existing).then(|| Checks::new(first_phase(&policy)));
        let wanted = Arc::new(Wanted { key, fingerprint, policy });
        let observed = observe::Call::default();
        Ok(Self { mode, core, wanted, checks, recorder: None, span, observed, stage: Stage::Fresh })
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

    /// Whether the key's parts are hidden.
    pub(crate) fn hides(&self) -> bool {
        self.wanted.policy.hidden
    }

    /// Whether `existing` stands in front of the body.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn asks(&self) -> bool {
        self.wanted.policy.existing
    }

    /// Drives the call to the next poll of the body, or to an answer without one.
    pub(crate) fn poll_before(&mut self, cx: &mut Context<'_>) -> Poll<Before> {
        loop {
            match &mut self.stage {
                Stage::Fresh => {
                    self.recorder = context::recorder();
                    self.observed.asks(&self.core);
                    self.stage = match self.mode {
                        Mode::Disabled => self.unguarded(),
                        Mode::Shadow => self.claiming(None),
                        Mode::Guarded => match self.remembered() {
                            Some(completed) => self.answering(completed),
                            None => match claim::busy_here(&self.core, &self.wanted) {
                                Some(error) => return Poll::Ready(self.refuse(error)),
                                None => self.claiming(None),
                            },
                        },
                    };
                }
                Stage::Claiming(claiming) => {
                    let decision = ready!(claiming.as_mut().poll(cx));
                    self.observed.decided(&self.core, &self.wanted.key);
                    let decision = if self.mode == Mode::Shadow { self.shadowed(decision) } else { decision };
                    self.stage = match decision {
                        Decision::Run(owned) => self.running(owned),
                        Decision::Unguarded => self.unguarded(),
                        Decision::Answer(completed) => self.answering(completed),
                        Decision::Refuse(error) => return Poll::Ready(self.refuse(error)),
                    };
                }
                Stage::Beginning(beginning) => match ready!(beginning.as_mut().poll(cx)) {
                    Ok(Some(owned)) => {
                        self.enter(Phase::Begun);
                        self.stage = Stage::Running(Running::new(owned, &self.wanted.policy));
                    }
                    Ok(None) | Err(_) if self.mode == Mode::Shadow => {
                        self.enter(Phase::Begun);
                        self.stage = Stage::Unguarded;
                    }
                    Ok(None) => return Poll::Ready(self.lose()),
                    Err(error) => return Poll::Ready(self.refuse(error)),
                },
                Stage::Running(running) => {
                    let begun = self.checks.as_ref().is_none_or(|checks| checks.phase() == Phase::Begun);
                    return match ready!(running.poll_turn(cx, &self.wanted.policy, begun)) {
                        Turn::Body => Poll::Ready(Before::Poll),
                        Turn::Lost => Poll::Ready(self.lose()),
                        Turn::TimedOut => Poll::Ready(self.time_out()),
                    };
                }
                Stage::Verifying(_) | Stage::Unguarded => return Poll::Ready(Before::Poll),
                Stage::Answering(_) => {
                    let Stage::Answering(completed) = std::mem::replace(&mut self.stage, Stage::Ended) else {
                        unreachable!("looked at just now")
                    };
                    return Poll::Ready(Before::Answer(completed));
                }
                Stage::Settling { .. } | Stage::Ended => panic!("a call was polled after it had ended"),
            }
        }
    }

    /// Polls the body under its claim. If it panics, the claim is ended at once.
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
            Stage::Running(running) => Some(Arc::clone(running.lease())),
            _ => None,
        };
        let checks = self.checks.clone();
        let mut bomb = Panicked(Some(self));
        let polled = context::inside(lease, checks, poll);
        bomb.0 = None;
        polled
    }

    fn panicked(&mut self) {
        if let Stage::Running(running) = std::mem::replace(&mut self.stage, Stage::Ended) {
            running.panicked();
        }
        self.end(&Outcome::new(OutcomeKind::Failed));
    }

    /// After a poll that left the body pending: whether it stopped for the guard, which then has to be asked again.
    pub(crate) fn was_asked(&mut self) -> bool {
        let Some(phase) = self.phase() else { return false };
        let stage = std::mem::replace(&mut self.stage, Stage::Ended);
        let (stage, asked) = match (phase, stage) {
            (Phase::Stands, Stage::Verifying(completed)) => (Stage::Answering(completed), true),
            (Phase::Refuted, Stage::Verifying(completed)) => (self.claiming(Some(completed)), true),
            (Phase::Begin, Stage::Running(running)) if self.wanted.policy.begins() => {
                let (core, wanted) = (Arc::clone(&self.core), Arc::clone(&self.wanted));
                let owned = running.into_owned();
                let beginning = Box::pin(async move { claim::begin(&core, &wanted, owned).await });
                (Stage::Beginning(beginning), true)
            }
            (Phase::Begin, stage) => {
                self.enter(Phase::Begun);
                (stage, true)
            }
            (_, stage) => (stage, false),
        };
        self.stage = stage;
        asked
    }

    /// The body has returned something that is to be kept for as long, whatever the policy says.
    pub(crate) fn keep_for(&mut self, ttl: Duration) {
        let mut wanted = Wanted::clone(&self.wanted);
        wanted.policy.ttl = Ttl::For(ttl.max(SHORTEST));
        self.wanted = Arc::new(wanted);
    }

    /// The body has returned, and is about to be judged: from here on its effect stands, so a call that goes away is
    /// completed.
    pub(crate) fn returned(&mut self, ok: bool) {
        self.observed.stopped();
        if let Stage::Running(running) = &mut self.stage
            && ok
        {
            let nothing = Recorded::Nothing(NoResult::NotSerialisable);
            running.otherwise(Work::Complete(nothing, completed_retention(&self.wanted.policy)));
        }
    }

    /// Writes a result with the runtime's codec; one that cannot be written is `Err`, noted.
    pub(crate) fn encode(&self, value: &dyn erased_serde::Serialize) -> Result<Encoded, NoResult> {
        let codec = self.core.codec();
        match codec.encode(ResultRef::erased(value)) {
            Ok(bytes) => self.encoded(codec.tag(), bytes.into()),
            Err(error) => {
                observe::no_result(&self.wanted.key, &error);
                Err(NoResult::NotSerialisable)
            }
        }
    }

    /// A result that is written already; one that is too large is `Err`, noted.
    pub(crate) fn encoded(&self, codec: CodecTag, bytes: Arc<[u8]>) -> Result<Encoded, NoResult> {
        if bytes.len() > self.core.settings.max_result_bytes {
            observe::no_result(&self.wanted.key, &format_args!("{} bytes are too many", bytes.len()));
            return Err(NoResult::TooLarge);
        }
        Ok(Encoded { codec, bytes })
    }

    /// Starts to settle a call whose body has returned and was dropped.
    pub(crate) fn settle(&mut self, ending: Ending) {
        let phase = self.phase();
        let kind = match &ending {
            Ending::Value(_) if phase == Some(Phase::Exists) => OutcomeKind::Existing,
            Ending::Value(_) => OutcomeKind::Executed,
            Ending::Final(_) => OutcomeKind::FailedForGood,
            Ending::Failure(_) => OutcomeKind::Failed,
            #[cfg(feature = "http")]
            Ending::GivenUp => OutcomeKind::Failed,
        };
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Running(running) => {
                let mut owned = running.into_owned();
                let attempt = owned.lease().attempt;
                let retention = completed_retention(&self.wanted.policy);
                match ending {
                    // A check failed ahead of the body: the claim goes back to what it found.
                    Ending::Final(_) | Ending::Failure(_) if phase == Some(Phase::Failed) => {}
                    Ending::Value(recorded) | Ending::Final(recorded) => {
                        owned.otherwise(Work::Complete(recorded, retention));
                    }
                    Ending::Failure(reason) => owned.otherwise(Work::Fail(reason)),
                    #[cfg(feature = "http")]
                    Ending::GivenUp => owned.otherwise(Work::GiveUp),
                }
                let settling = Box::pin(settle::settle(Arc::clone(&self.core), owned, Arc::clone(&self.wanted)));
                self.stage = Stage::Settling { settling, attempt, kind };
            }
            Stage::Verifying(completed) => {
                let outcome = Outcome::new(OutcomeKind::Failed);
                self.end(&outcome.of_run(&self.wanted.key, completed.attempt));
            }
            _ => {
                let ok = matches!(kind, OutcomeKind::Executed | OutcomeKind::Existing);
                self.end(&Outcome::new(OutcomeKind::Unguarded { ok }));
            }
        }
    }

    /// Waits for the settlement.
    pub(crate) fn poll_settled(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Stage::Settling { settling, attempt, kind } = &mut self.stage {
            let settled = ready!(settling.as_mut().poll(cx));
            let kind = if settled == Settled::Lost { OutcomeKind::Lost } else { *kind };
            let outcome = Outcome::new(kind).of_run(&self.wanted.key, *attempt);
            self.stage = Stage::Ended;
            self.end(&outcome);
        }
        Poll::Ready(())
    }

    /// Tells everybody who listens what the call came to.
    pub(crate) fn end(&mut self, outcome: &Outcome) {
        self.observed.ended(&self.core, &self.span, &self.wanted.key, outcome);
        if let Some(recorder) = self.recorder.take() {
            recorder.record(outcome.clone());
        }
    }

    /// The record, where this process still remembers that it is completed.
    #[cfg(feature = "cache")]
    fn remembered(&self) -> Option<Box<Completed>> {
        self.core.recent.as_ref()?.get(&self.wanted.key, self.wanted.fingerprint)
    }

    #[cfg(not(feature = "cache"))]
    #[expect(clippy::unused_self, reason = "with the feature `cache` it looks")]
    fn remembered(&self) -> Option<Box<Completed>> {
        None
    }

    /// A completed record answers the call, unless `verify` has something to say about it.
    fn answering(&self, completed: Box<Completed>) -> Stage {
        if self.phase() == Some(Phase::Verifying) && claims_effect(&completed) {
            Stage::Verifying(completed)
        } else {
            Stage::Answering(completed)
        }
    }

    fn claiming(&self, superseded: Option<Box<Completed>>) -> Stage {
        if superseded.is_some() {
            // The question is answered: a record that comes up now is another run's, and stands.
            self.enter(Phase::Refuted);
        }
        Stage::Claiming(Box::pin(claim::claim(Arc::clone(&self.core), Arc::clone(&self.wanted), superseded)))
    }

    fn running(&mut self, owned: Owned) -> Stage {
        self.observed.running(&self.wanted.key);
        self.enter(if self.wanted.policy.existing { Phase::Asking } else { Phase::Begun });
        Stage::Running(Running::new(owned, &self.wanted.policy))
    }

    fn unguarded(&self) -> Stage {
        self.enter(if self.wanted.policy.existing { Phase::Asking } else { Phase::Begun });
        Stage::Unguarded
    }

    fn phase(&self) -> Option<Phase> {
        self.checks.as_ref().map(|checks| checks.phase())
    }

    fn enter(&self, phase: Phase) {
        if let Some(checks) = &self.checks {
            checks.set(phase);
        }
    }

    fn refuse(&mut self, error: Error) -> Before {
        self.stage = Stage::Ended;
        self.end(&Outcome::refused(&error));
        Before::Refuse(error)
    }

    /// The run's time is over. Its claim stays where it is until the body is dropped, and then ends as a dropped
    /// future's does.
    fn time_out(&mut self) -> Before {
        let error = Error::new(ErrorKind::TimedOut).key(self.wanted.key.shared());
        let error = match self.wanted.policy.timeout {
            Some(timeout) => error.detail(format!("{timeout:?}")),
            None => error,
        };
        self.end(&Outcome::refused(&error));
        Before::Refuse(error)
    }

    /// Another run has taken over, or may have: there is nothing of ours left to give back.
    fn lose(&mut self) -> Before {
        observe::claim_lost(&self.wanted.key);
        if let Stage::Running(running) = std::mem::replace(&mut self.stage, Stage::Ended) {
            running.into_owned().ended();
        }
        self.refuse(Error::new(ErrorKind::ClaimLost).key(self.wanted.key.shared()))
    }
}

/// Whether a record says that the action had its effect. One that failed for good had none, and `verify` would always
/// refute it.
fn claims_effect(completed: &Completed) -> bool {
    matches!(completed.result, Recorded::Value(_) | Recorded::Nothing(_))
}

/// A future starts with the question that stands first in it.
fn first_phase(policy: &Policy) -> Phase {
    if policy.verify { Phase::Verifying } else { Phase::Asking }
}

/// The bounds of durations: the attribute checks those that it can read, a call checks all.
pub(crate) fn check(policy: &Policy) -> Result<(), Error> {
    let wrong = |name: &str, value: Duration, bound: &str| {
        Err(Error::configuration(format!("`{name}` of {value:?} is {bound}")))
    };
    match policy.ttl {
        Ttl::For(ttl) if ttl < SHORTEST => return wrong("ttl", ttl, "too short: use 10 ms or more"),
        Ttl::PerCall => return Err(Error::configuration("`ttl` is missing; call `.ttl(…)` before `.run(…)`")),
        Ttl::For(_) | Ttl::Forever => {}
    }
    match policy.timeout {
        Some(timeout) if timeout.is_zero() => return wrong("timeout", timeout, "no time at all"),
        _ => {}
    }
    match policy.lease {
        lease if lease < SHORTEST => wrong("lease", lease, "too short: use 10 ms or more"),
        lease if lease > LONGEST_LEASE => wrong("lease", lease, "too long: a day at the most"),
        _ => Ok(()),
    }
}
