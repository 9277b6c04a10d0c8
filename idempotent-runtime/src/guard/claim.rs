//! The claim: from a key to a decision.

use std::sync::Arc;
use std::time::Duration;

use super::ask;
use super::backoff::jittered;
use super::flight::{Following, Learned, Part};
use super::owned::{Asked, Owned};
use super::waiting::Waiting;
use crate::error::{Error, ErrorKind};
use crate::fingerprint::Fingerprint;
use crate::idempotency::Core;
use crate::key::Key;
use crate::lease::{Claimed, Lease, News, believed};
use crate::observe;
use crate::policy::{OnBusy, OnCrash, OnOutage, Policy, Ttl};
use crate::record::Completed;
use crate::store::{Acquired, Answer, ClaimAnswer, ClaimRequest, Found, OnLapse, Retention, StoreError};
use crate::token::Token;

/// What a call asks for.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) key: Key,
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) policy: Policy,
}

/// What the claim came to.
pub(super) enum Decision {
    /// Run the body under this claim.
    Run(Owned),
    /// Run the body without a claim: the store is away, and the handler's policy says so.
    Unguarded,
    /// Answer from the record.
    Answer(Box<Completed>),
    /// Do not run.
    Refuse(Error),
}

/// What one claim was answered.
pub(super) enum Answered {
    Ours(Owned),
    /// Acquired, but so late that the lease is spent; put back.
    TooLate,
    Busy {
        remaining: Duration,
        error: Error,
    },
    /// The same, and the run is one of this process.
    BusyHere {
        following: Following,
        lease: Arc<Lease>,
    },
    /// Another call of this process asked, and has no answer that is of use to this one.
    Again,
    Decided(Decision),
}

/// A call whose claims keep coming too late is given up after as many.
const TRIES: u32 = 3;

/// Claims the key for a new call, in place of `superseded` where that is given.
///
/// Dropped at any point, it puts back in the background what it may have claimed.
///
/// What few calls do is boxed where it is done: every call allocates this future, and a large one costs it more.
pub(super) async fn claim(core: Arc<Core>, wanted: Arc<Wanted>, superseded: Option<Box<Completed>>) -> Decision {
    let policy = &wanted.policy;
    let mut waiting = Waiting::new(policy.on_busy);
    let mut tries = 0;
    let mut followed = None;
    while tries < TRIES {
        match claim_once(&core, &wanted, superseded.as_deref(), followed.take()).await {
            Answered::Again => {}
            Answered::BusyHere { mut following, lease } => {
                if !Box::pin(waiting.pause_here(&mut following, &lease)).await {
                    let (attempt, remaining) = (lease.attempt, lease.remaining());
                    return Decision::Refuse(busy(&wanted.key, attempt, &core.owner, remaining));
                }
                followed = Some(following);
            }
            Answered::Ours(owned) if policy.begins() && !policy.existing => {
                match Box::pin(begin(&core, &wanted, owned)).await {
                    Ok(Some(owned)) => return Decision::Run(owned),
                    Ok(None) => tries += 1,
                    Err(error) => return Decision::Refuse(error),
                }
            }
            Answered::Ours(owned) => return Decision::Run(owned),
            Answered::TooLate => tries += 1,
            Answered::Busy { remaining, error } => {
                if !Box::pin(waiting.pause(&*core.store, &wanted.key, remaining)).await {
                    return Decision::Refuse(error);
                }
            }
            Answered::Decided(decision) => return decision,
        }
    }
    Decision::Refuse(unavailable(&wanted.key).detail("the store's answers took longer than the lease"))
}

/// The refusal of a call that waits for nothing, where a run of this process is in progress: known without a question, and
/// without the future of one.
pub(super) fn busy_here(core: &Core, wanted: &Wanted) -> Option<Error> {
    let flights = core.flights.as_ref().filter(|_| wanted.policy.on_busy == OnBusy::Reject)?;
    let (attempt, remaining) = flights.in_progress(wanted)?;
    Some(busy(&wanted.key, attempt, &core.owner, remaining))
}

/// Claims once, under a token of its own: where a message of the last claim may still be on its way, that claim was put
/// back and its token is dead. Where calls in flight are collapsed, it follows one that claims already, or the one that it
/// has followed so far.
async fn claim_once(
    core: &Arc<Core>,
    wanted: &Wanted,
    superseded: Option<&Completed>,
    followed: Option<Following>,
) -> Answered {
    if let Some(following) = followed
        && let Some(answered) = Box::pin(follow(core, wanted, following)).await
    {
        return answered;
    }
    let Wanted { key, fingerprint, policy } = wanted;
    let mut budget = core.settings.store_timeout;
    let token = Token::random();
    let request = ClaimRequest {
        token,
        owner: &core.owner,
        fingerprint: *fingerprint,
        lease: policy.lease,
        retention: retention(policy),
        held: held(policy),
        on_lapse: on_lapse(policy),
        max_attempts: policy.max_attempts,
        supersede: superseded.map(|record| record.token),
        begun: !policy.begins(),
        fenced: policy.fenced,
    };
    let lead = match core.flights.as_ref().map(|flights| flights.join(wanted, request.supersede)) {
        None => None,
        Some(Part::Lead(lead)) => Some(lead),
        Some(Part::Follow(following)) => {
            let began = core.clock.now();
            if let Some(answered) = Box::pin(follow(core, wanted, following)).await {
                return answered;
            }
            budget = budget.saturating_sub(core.clock.now().since(began));
            None
        }
    };
    // Put back under the claim's own token: under the old one, a late message of this claim would replace it again.
    let superseded =
        superseded.map(|record| Box::new((Completed { token, ..record.clone() }, completed_retention(policy))));
    let mut asked = Asked { core, key, lease: policy.lease, superseded, token: Some(token) };
    let mut messages = 0;
    let answer = ask::within(budget, || {
        // The deadline counts from the message that was answered, not from the first.
        let sent = core.clock.now();
        messages += 1;
        let answer = observe::store(&*core.store, "claim", core.store.claim(key, &request));
        async move { Ok((answer.await?, sent)) }
    })
    .await;
    match answer {
        Ok((ClaimAnswer::Acquired(_), sent)) if core.clock.now() >= sent.after(believed(policy.lease)) => {
            Answered::TooLate
        }
        Ok((ClaimAnswer::Acquired(acquired), sent)) => {
            let superseded = asked.answered().filter(|_| acquired.found == Found::Completed);
            note_found(key, &acquired);
            #[cfg(feature = "cache")]
            if let Some(recent) = core.recent.as_ref().filter(|_| acquired.found == Found::Completed) {
                recent.forget(key);
            }
            let Acquired { attempt, fence, .. } = acquired;
            let (length, handle) = (policy.lease, Arc::downgrade(core));
            let claimed = Claimed { key: key.clone(), token, length, attempt, fence, core: handle };
            let lease = Lease::new(claimed, core.clock, sent);
            Answered::Ours(Owned::new(Arc::clone(core), lease, request.held, superseded, lead))
        }
        Ok((answer, _)) => {
            // Where every message was answered, none is on its way and there is nothing to put back.
            if messages == 1 {
                asked.answered();
            }
            // That a token is dead is of use to nobody else.
            if let Some(lead) = lead.filter(|_| answer != ClaimAnswer::Lost) {
                lead.answered(&answer);
            }
            #[cfg(feature = "cache")]
            if matches!(answer, ClaimAnswer::Completed(_)) {
                super::recent::Recent::learn(core, key);
            }
            decide(key, answer)
        }
        Err(error) => {
            let error = match lead {
                Some(lead) => lead.outage(error),
                None => error,
            };
            Answered::Decided(outage(key, policy, error))
        }
    }
}

/// What the call learns from another of this process that asks already. `None` where it has to ask the store itself.
async fn follow(core: &Core, wanted: &Wanted, mut following: Following) -> Option<Answered> {
    let Wanted { key, policy, .. } = wanted;
    // The other half is left for asking.
    Some(match following.learn(core.settings.store_timeout / 2).await {
        Learned::Answer(answer) => decide(key, answer),
        Learned::Outage(error) => Answered::Decided(outage(key, policy, error)),
        Learned::InProgress(lease) => Answered::BusyHere { following, lease },
        Learned::Nothing => Answered::Again,
        Learned::Doubt => return None,
    })
}

/// Under `hold` a lapsed run waits for somebody who knows what it did; `existing` is such a somebody.
pub(super) fn on_lapse(policy: &Policy) -> OnLapse {
    if policy.on_crash == OnCrash::Hold && !policy.existing { OnLapse::Hold } else { OnLapse::TakeOver }
}

pub(super) fn decide(key: &Key, answer: ClaimAnswer) -> Answered {
    let refuse = |kind| Error::new(kind).key(key.shared());
    let error = match answer {
        ClaimAnswer::Completed(completed) => return Answered::Decided(Decision::Answer(Box::new(completed))),
        ClaimAnswer::InProgress { remaining, attempt, owner } => {
            return Answered::Busy { remaining, error: busy(key, attempt, &owner, remaining) };
        }
        // Only a call that was given back is told so: a message of this one, late. Ask anew.
        ClaimAnswer::Lost => return Answered::TooLate,
        ClaimAnswer::Mismatch => refuse(ErrorKind::Mismatch),
        ClaimAnswer::Exhausted { attempt } => {
            refuse(ErrorKind::Exhausted).detail(format!("{attempt} attempts have started"))
        }
        ClaimAnswer::Abandoned { attempt, owner } => {
            refuse(ErrorKind::Indeterminate).detail(format!("attempt {attempt} by {owner} stopped half way"))
        }
        ClaimAnswer::Unreadable(cause) => refuse(ErrorKind::Unreadable).detail(cause.to_string()),
        ClaimAnswer::Acquired(_) => unavailable(key).detail("the claim was answered out of turn"),
    };
    Answered::Decided(Decision::Refuse(error))
}

fn busy(key: &Key, attempt: u32, owner: &Arc<str>, remaining: Duration) -> Error {
    Error::new(ErrorKind::Busy).key(key.shared()).of_run(attempt, owner).after(jittered(remaining.min(LONGEST_HINT)))
}

/// Marks the claim as begun. `None` when it has lapsed before that: it is put back, and may be tried anew.
pub(super) async fn begin(core: &Arc<Core>, wanted: &Wanted, owned: Owned) -> Result<Option<Owned>, Error> {
    let lease = Arc::clone(owned.lease());
    let answer = ask::within(core.settings.store_timeout, || {
        let sent = core.clock.now();
        let answer = observe::store(&*core.store, "begin", core.store.begin(&lease.key, lease.token));
        async move { Ok((answer.await?, sent)) }
    })
    .await;
    match answer {
        Ok((Answer::Held, sent)) => {
            lease.heard(sent, News::Held);
            Ok(Some(owned))
        }
        Ok((Answer::Lost, _)) => Ok(None),
        Err(error) => Err(unavailable(&wanted.key).because(error)),
    }
}

fn outage(key: &Key, policy: &Policy, error: StoreError) -> Decision {
    match policy.on_outage {
        OnOutage::Run => {
            observe::unguarded(key, &error);
            Decision::Unguarded
        }
        OnOutage::Reject => Decision::Refuse(unavailable(key).because(error)),
    }
}

fn unavailable(key: &Key) -> Error {
    Error::new(ErrorKind::StoreUnavailable).key(key.shared())
}

/// A record that is not completed is kept as long as a completed one would be, so that a duplicate within the ttl meets
/// it; at least for two leases, so that lapsed can be told from gone.
fn retention(policy: &Policy) -> Retention {
    match policy.ttl {
        Ttl::For(ttl) => Retention::For(ttl.max(policy.lease * 2)),
        Ttl::Forever | Ttl::PerCall => Retention::Forever,
    }
}

/// Under `hold` the record of a run that stopped half way is kept until somebody resolves it; not so of one that never
/// began, or has failed.
fn held(policy: &Policy) -> Retention {
    match policy.on_crash {
        OnCrash::Rerun => retention(policy),
        OnCrash::Hold => Retention::Forever,
    }
}

/// A completed record is kept for the ttl.
pub(super) fn completed_retention(policy: &Policy) -> Retention {
    match policy.ttl {
        Ttl::For(ttl) => Retention::For(ttl),
        Ttl::Forever | Ttl::PerCall => Retention::Forever,
    }
}

/// The longest hint: a run usually ends long before its lease.
const LONGEST_HINT: Duration = Duration::from_secs(1);

pub(super) fn note_found(key: &Key, acquired: &Acquired) {
    match acquired.found {
        Found::Absent => {}
        Found::Failed => observe::retry(key, acquired.attempt),
        Found::Lapsed { .. } => observe::takeover(key, acquired.attempt),
        Found::Completed => observe::refuted(key),
    }
}
