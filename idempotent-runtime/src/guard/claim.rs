//! The claim: from a key to a decision.

use std::sync::Arc;
use std::time::Duration;

use super::ask;
use super::backoff::jittered;
use super::owned::{Asked, Owned};
use crate::error::{Error, ErrorKind};
use crate::fingerprint::Fingerprint;
use crate::idempotency::Core;
use crate::key::Key;
use crate::lease::{Claimed, Lease, believed};
use crate::observe;
use crate::policy::{OnOutage, Policy, Ttl};
use crate::record::Completed;
use crate::store::{Acquired, ClaimAnswer, ClaimRequest, Found, OnLapse, Retention, StoreError};
use crate::token::Token;

/// What a call asks for.
#[derive(Debug)]
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
    Answer(Completed),
    /// Do not run.
    Refuse(Error),
}

/// A claim whose answers keep coming too late is given up after as many tries.
const TRIES: u32 = 3;

/// Claims the key for a new call.
///
/// Dropped at any point, it puts back in the background what it may have claimed.
pub(super) async fn claim(core: Arc<Core>, wanted: Arc<Wanted>) -> Decision {
    let Wanted { key, fingerprint, policy } = &*wanted;
    let mut asked = Asked { core: &core, key, lease: policy.lease, superseded: None, token: None };
    for _ in 0..TRIES {
        let request = ClaimRequest {
            token: Token::random(),
            owner: &core.owner,
            fingerprint: *fingerprint,
            lease: policy.lease,
            retention: retention(policy),
            on_lapse: OnLapse::TakeOver,
            max_attempts: policy.max_attempts,
            supersede: None,
            begun: true,
            fenced: policy.fenced,
        };
        asked.token = Some(request.token);
        let mut sent = core.clock.now();
        let answer = ask::within(core.settings.store_timeout, || {
            // The deadline counts from the message that was answered, not from the first.
            sent = core.clock.now();
            observe::store(&*core.store, "claim", core.store.claim(key, &request))
        })
        .await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                asked.put_back();
                return outage(key, policy, error);
            }
        };
        match answer {
            ClaimAnswer::Acquired(_) if core.clock.now() >= sent.after(believed(policy.lease)) => asked.put_back(),
            ClaimAnswer::Acquired(acquired) => {
                asked.answered();
                note_found(key, &acquired);
                let Acquired { attempt, fence, .. } = acquired;
                let claimed = Claimed { key: key.clone(), token: request.token, length: policy.lease, attempt, fence };
                let lease = Lease::new(claimed, core.clock, sent);
                return Decision::Run(Owned::new(Arc::clone(&core), lease, None));
            }
            // Only a released call is told so, and this token is new: a message of another time. Ask anew.
            ClaimAnswer::Lost => asked.answered(),
            other => {
                asked.answered();
                return decide(key, other);
            }
        }
    }
    Decision::Refuse(
        Error::new(ErrorKind::StoreUnavailable)
            .key(key.as_str())
            .detail("the store's answers took longer than the lease"),
    )
}

fn decide(key: &Key, answer: ClaimAnswer) -> Decision {
    let refuse = |kind| Error::new(kind).key(key.as_str());
    Decision::Refuse(match answer {
        ClaimAnswer::Completed(completed) => return Decision::Answer(completed),
        ClaimAnswer::InProgress { remaining, attempt, owner } => {
            refuse(ErrorKind::Busy).detail(format!("attempt {attempt} by {owner}")).after(retry_hint(remaining))
        }
        ClaimAnswer::Mismatch => refuse(ErrorKind::Mismatch),
        ClaimAnswer::Exhausted { attempt } => {
            refuse(ErrorKind::Exhausted).detail(format!("{attempt} attempts have started"))
        }
        ClaimAnswer::Abandoned { attempt, owner } => {
            refuse(ErrorKind::Indeterminate).detail(format!("attempt {attempt} by {owner} stopped half way"))
        }
        ClaimAnswer::Unreadable(cause) => refuse(ErrorKind::Unreadable).detail(cause.to_string()),
        ClaimAnswer::Acquired(_) | ClaimAnswer::Lost => {
            refuse(ErrorKind::StoreUnavailable).detail("the claim was answered out of turn")
        }
    })
}

fn outage(key: &Key, policy: &Policy, error: StoreError) -> Decision {
    match policy.on_outage {
        OnOutage::Run => {
            observe::unguarded(key, &error);
            Decision::Unguarded
        }
        OnOutage::Reject => Decision::Refuse(Error::new(ErrorKind::StoreUnavailable).key(key.as_str()).because(error)),
    }
}

/// A record in progress is kept for the ttl, so that it outlives its lease by as much as a completed one would be
/// recognised; at least for two leases, so that lapsed can be told from gone.
fn retention(policy: &Policy) -> Retention {
    match policy.ttl {
        Ttl::For(ttl) => Retention::For(ttl.max(policy.lease * 2)),
        Ttl::Forever | Ttl::PerCall => Retention::Forever,
    }
}

/// The longest hint: a run usually ends long before its lease.
const LONGEST_HINT: Duration = Duration::from_secs(1);

fn retry_hint(remaining: Duration) -> Duration {
    jittered(remaining.min(LONGEST_HINT))
}

fn note_found(key: &Key, acquired: &Acquired) {
    match acquired.found {
        Found::Absent => {}
        Found::Failed => observe::retry(key, acquired.attempt),
        Found::Lapsed { .. } => observe::takeover(key, acquired.attempt),
        Found::Completed => observe::refuted(key),
    }
}
