//! A call in its caller's transaction (`within = tx`): the claim is a row of that transaction, committed or rolled back
//! with what the body writes.
//!
//! There is no lease and nothing to renew: nobody sees the claim before it is completed, and the database takes it back
//! if the transaction does not commit. Every step is taken on the caller's connection, while the body does not have it.
//!
//! Any await may be the last. Dropped before the claim, nothing has happened. Dropped after it, a panic too, nothing can
//! be done, since the connection is the caller's; but the row is open, and a transaction with an open row cannot be
//! committed. Once it is completed, whether the call took place is the caller's `COMMIT` or `ROLLBACK`.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tracing::Span;

use super::backoff::jittered;
use super::checks::Phase;
use super::claim::{Answered, Decision as Claimed, Wanted, completed_retention, decide, note_found};
use super::waiting::Waiting;
use super::{Ending, Guard, claims_effect};
use crate::context;
use crate::error::{Error, ErrorKind};
use crate::idempotency::{Core, Mode};
use crate::lease::{self, Lease};
use crate::outcome::{Outcome, OutcomeKind};
use crate::policy::{DEFAULT_LEASE, LONGEST_LEASE, OnBusy, OnCrash, OnLost, OnOutage, Policy, SHORTEST};
use crate::record::{Completed, Recorded};
use crate::store::{ClaimAnswer, ClaimRequest, Failure, OnLapse, Opened, Session, Trouble};
use crate::token::Token;

/// What the claim came to.
pub(crate) enum Decision {
    /// The key is claimed.
    Run,
    /// Ask whether this record's effect is really there.
    Verify(Box<Completed>),
    /// Answer from this record.
    Answer(Box<Completed>),
    /// Do not run.
    Refuse(Error),
}

/// One call in its caller's transaction, whatever its types.
pub(crate) struct Within {
    guard: Box<Guard>,
    token: Token,
    claimed: Option<InPlace>,
    /// The body has started and not returned.
    runs: bool,
}

/// The claim, as it stands in the transaction.
struct InPlace {
    opened: Opened,
    lease: Arc<Lease>,
    /// An error can be recorded without what the body wrote.
    protected: bool,
}

/// What a body that runs in the transaction runs in.
pub(crate) struct Surroundings {
    pub(crate) span: Span,
    pub(crate) lease: Option<Arc<Lease>>,
    pub(crate) timeout: Option<Duration>,
}

impl Within {
    pub(crate) fn new(mut guard: Box<Guard>) -> Result<Self, Error> {
        check(&guard.wanted.policy).map_err(|error| error.key(guard.key().shared()))?;
        guard.recorder = context::recorder();
        Ok(Self { guard, token: Token::random(), claimed: None, runs: false })
    }

    pub(crate) fn guard(&mut self) -> &mut Guard {
        &mut self.guard
    }

    /// Claims the key, in place of `superseded` where that is given.
    pub(crate) async fn claim(
        &mut self,
        session: &mut Session<'_>,
        superseded: Option<&Completed>,
        protect: bool,
    ) -> Decision {
        if self.guard.mode != Mode::Guarded {
            return self.run();
        }
        let opened = match session.open(&self.guard.core.tables, self.patience()).await {
            Ok(opened) => opened,
            Err(failure) => return self.refuse(failure),
        };
        let (core, wanted) = (Arc::clone(&self.guard.core), Arc::clone(&self.guard.wanted));
        match claim(&core, &wanted, self.token, session, &opened, superseded, protect).await {
            Ok(Ok(lease)) => {
                self.claimed = Some(InPlace { opened, lease, protected: protect });
                self.run()
            }
            Ok(Err(decision)) => match session.undo().await {
                Ok(()) => self.decided(decision, superseded.is_some()),
                Err(failure) => self.refuse(failure),
            },
            Err(failure) => {
                // Whether that succeeds or not: the claim's own trouble is what the caller has to know.
                let _ = session.undo().await;
                self.refuse(failure)
            }
        }
    }

    /// What a part of the handler runs in.
    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings {
            span: self.guard.span.clone(),
            lease: self.claimed.as_ref().map(|claimed| Arc::clone(&claimed.lease)),
            timeout: self.guard.wanted.policy.timeout,
        }
    }

    /// The body has returned, or a question in front of it has answered for it.
    pub(crate) fn returned(&mut self) {
        self.runs = false;
        self.guard.observed.stopped();
    }

    /// Ends the call's part of the transaction. An error is the reply, in place of the body's.
    pub(crate) async fn settle(&mut self, session: &mut Session<'_>, ending: Ending, by: Phase) -> Result<(), Error> {
        let (recorded, kind) = match ending {
            Ending::Value(recorded) if by == Phase::Exists => (Some(recorded), OutcomeKind::Existing),
            Ending::Value(recorded) => (Some(recorded), OutcomeKind::Executed),
            Ending::Final(recorded) if by != Phase::Failed => (Some(recorded), OutcomeKind::FailedForGood),
            _ => (None, OutcomeKind::Failed),
        };
        let Some(InPlace { opened, lease, protected }) = self.claimed.take() else {
            let ok = recorded.is_some() && kind != OutcomeKind::FailedForGood;
            self.guard.end(&Outcome::new(OutcomeKind::Unguarded { ok }));
            return Ok(());
        };
        let undo_body = protected && kind == OutcomeKind::FailedForGood;
        let (settled, kind) = match &recorded {
            Some(recorded) => {
                let wanted = Arc::clone(&self.guard.wanted);
                (complete(&wanted, self.token, session, &opened, recorded, undo_body).await, kind)
            }
            None => (session.undo().await, kind),
        };
        match settled {
            Ok(()) => self.guard.end(&Outcome::new(kind).of_run(&self.guard.wanted.key.clone(), lease.attempt)),
            // The handler's own error is the reply, whatever becomes of the transaction.
            Err(_) if kind == OutcomeKind::Failed || kind == OutcomeKind::FailedForGood => {
                let _ = session.undo().await;
                let failed = Outcome::new(OutcomeKind::Failed);
                self.guard.end(&failed.of_run(&self.guard.wanted.key.clone(), lease.attempt));
            }
            Err(failure) => {
                let _ = session.undo().await;
                let Decision::Refuse(error) = self.refuse(failure) else { unreachable!("it refuses") };
                return Err(error);
            }
        }
        Ok(())
    }

    /// The run's time is over, and its body is gone: what it wrote is undone, its claim too.
    pub(crate) async fn time_out(&mut self, session: &mut Session<'_>) -> Error {
        self.returned();
        if self.claimed.take().is_some() {
            let _ = session.undo().await;
        }
        let error = Error::new(ErrorKind::TimedOut).key(self.guard.key().shared());
        let error = match self.guard.wanted.policy.timeout {
            Some(timeout) => error.detail(format!("{timeout:?}")),
            None => error,
        };
        self.guard.end(&Outcome::refused(&error));
        error
    }

    fn run(&mut self) -> Decision {
        self.runs = true;
        self.guard.observed.running(&self.guard.wanted.key);
        Decision::Run
    }

    fn decided(&mut self, decision: Claimed, has_asked: bool) -> Decision {
        match decision {
            Claimed::Answer(completed)
                if self.guard.wanted.policy.verify && !has_asked && claims_effect(&completed) =>
            {
                Decision::Verify(completed)
            }
            Claimed::Answer(completed) => Decision::Answer(completed),
            Claimed::Refuse(error) => {
                self.guard.end(&Outcome::refused(&error));
                Decision::Refuse(error)
            }
            Claimed::Run(_) | Claimed::Unguarded => unreachable!("no claim of a lease is made here"),
        }
    }

    fn refuse(&mut self, failure: Failure) -> Decision {
        let error = refusal(failure).key(self.guard.key().shared());
        self.guard.end(&Outcome::refused(&error));
        Decision::Refuse(error)
    }

    /// How long a claim waits for another transaction: that is the database's to do.
    fn patience(&self) -> Duration {
        match self.guard.wanted.policy.on_busy {
            OnBusy::Reject => SHORTEST,
            OnBusy::Wait(patience) => patience,
        }
    }
}

/// Claims the key in an opened transaction, which has to be undone unless that gives a lease.
async fn claim(
    core: &Core,
    wanted: &Wanted,
    token: Token,
    session: &mut Session<'_>,
    opened: &Opened,
    superseded: Option<&Completed>,
    protect: bool,
) -> Result<Result<Arc<Lease>, Claimed>, Failure> {
    let retention = completed_retention(&wanted.policy);
    let request = ClaimRequest {
        token,
        owner: &core.owner,
        fingerprint: wanted.fingerprint,
        lease: wanted.policy.lease,
        retention,
        held: retention,
        on_lapse: OnLapse::TakeOver,
        max_attempts: None,
        supersede: superseded.map(|record| record.token),
        begun: true,
        fenced: true,
    };
    let mut waiting = Waiting::new(if session.can_wait() { wanted.policy.on_busy } else { OnBusy::Reject });
    loop {
        let (clock, sent) = (core.clock, core.clock.now());
        let answer = session.claim(opened, &wanted.key, &request).await?;
        if let ClaimAnswer::Acquired(acquired) = &answer {
            if protect {
                session.protect().await?;
            }
            note_found(&wanted.key, acquired);
            let (key, attempt, fence) = (wanted.key.clone(), acquired.attempt, acquired.fence);
            // Other steps are read from the handle's store, which knows nothing of this transaction.
            let core = Weak::new();
            let claimed = lease::Claimed { key, token, length: LONGEST_LEASE, attempt, fence, core };
            return Ok(Ok(Lease::new(claimed, clock, sent)));
        }
        match decide(&wanted.key, answer) {
            Answered::Decided(decision) => return Ok(Err(decision)),
            // Claimed outside of a transaction, by a handler of the same name without `within`.
            Answered::Busy { remaining, error } => {
                if !waiting.pause(&*core.store, &wanted.key, remaining).await {
                    return Ok(Err(Claimed::Refuse(error)));
                }
            }
            Answered::Ours(_) | Answered::TooLate | Answered::BusyHere { .. } | Answered::Again => {
                let error = Error::new(ErrorKind::StoreUnavailable).key(wanted.key.shared());
                return Ok(Err(Claimed::Refuse(error.detail("the claim was answered out of turn"))));
            }
        }
    }
}

async fn complete(
    wanted: &Wanted,
    token: Token,
    session: &mut Session<'_>,
    opened: &Opened,
    recorded: &Recorded,
    undo_body: bool,
) -> Result<(), Failure> {
    if undo_body {
        session.undo_body().await?;
    }
    session.complete(opened, &wanted.key, token, recorded, completed_retention(&wanted.policy)).await
}

impl Drop for Within {
    fn drop(&mut self) {
        if self.runs && std::thread::panicking() {
            self.guard.end(&Outcome::new(OutcomeKind::Failed));
        }
    }
}

fn refusal(Failure { trouble, error }: Failure) -> Error {
    let new = |kind| Error::new(kind);
    match trouble {
        Trouble::Busy => new(ErrorKind::Busy).detail("in another transaction").after(jittered(RETRY)),
        Trouble::Conflict => new(ErrorKind::TransactionConflict),
        Trouble::Failed => new(ErrorKind::TransactionFailed),
        Trouble::NoTransaction => Error::configuration(
            "`within` takes part in a transaction that its caller has begun and commits; begin one (on SQLite with \
             `begin_with(\"BEGIN IMMEDIATE\")`)",
        ),
        Trouble::Away | Trouble::Refused => new(ErrorKind::StoreUnavailable),
    }
    .because(error)
}

/// When to come back after another transaction had the key for too long.
const RETRY: Duration = Duration::from_millis(200);

/// What has no meaning without a lease.
fn check(policy: &Policy) -> Result<(), Error> {
    let wrong = [
        ("lease", policy.lease != DEFAULT_LEASE),
        ("on_crash", policy.on_crash != OnCrash::Rerun),
        ("on_outage", policy.on_outage != OnOutage::Reject),
        ("on_lost", policy.on_lost != OnLost::Cancel),
        ("max_attempts", policy.max_attempts.is_some()),
    ];
    match wrong.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Error::configuration(format!(
            "`{option}` has no meaning in a transaction, where a claim lives and dies with it; leave it out"
        ))),
        None => Ok(()),
    }
}
