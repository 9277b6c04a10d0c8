//! The end of a run: recording its result, or giving its claim back.

use std::sync::Arc;

use super::ask;
use super::claim::Wanted;
use super::owned::Owned;
#[cfg(feature = "cache")]
use super::recent::Recent;
use crate::idempotency::Core;
use crate::keeper::Work;
use crate::observe;
use crate::record::{Completed, Recorded};
use crate::store::{Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, OnLapse, Retention, StoreError};
use crate::token::Token;

/// How a run was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// The store has it, or the keeper goes on trying.
    Done,
    /// Another run has the record: this run's value is its caller's alone.
    Lost,
}

/// Settles the claim as it is [to be settled](Owned::work). Dropped, or after `settle_timeout`, the keeper goes on.
pub(super) async fn settle(core: Arc<Core>, owned: Owned, wanted: Arc<Wanted>) -> Settled {
    match owned.work().cloned() {
        Some(Work::Complete(recorded, retention)) => complete(&core, owned, recorded, retention, &wanted).await,
        Some(work) => give_back(&core, owned, &work).await,
        None => Settled::Done,
    }
}

async fn complete(
    core: &Arc<Core>,
    owned: Owned,
    recorded: Recorded,
    retention: Retention,
    wanted: &Wanted,
) -> Settled {
    let lease = Arc::clone(owned.lease());
    let returned = core.clock.now();
    #[cfg(feature = "cache")]
    let asking = core.recent.as_ref().map(Recent::asking);
    let answer = ask::within(core.settings.settle_timeout, || {
        observe::store(&*core.store, "complete", core.store.complete(&lease.key, lease.token, &recorded, retention))
    })
    .await;
    match answer {
        Ok(CompleteAnswer::Held) => {
            let completed = || Completed {
                token: lease.token,
                attempt: lease.attempt,
                fingerprint: wanted.fingerprint,
                result: recorded.clone(),
            };
            #[cfg(feature = "cache")]
            if let Some((recent, asking)) = core.recent.as_ref().zip(asking) {
                recent.keep(&lease.key, completed(), retention, asking);
            }
            owned.completed(completed);
            Settled::Done
        }
        Ok(CompleteAnswer::Lost(_)) => {
            owned.ended();
            observe::completion_lost(&lease.key);
            Settled::Lost
        }
        // Recorded, and expired again, before this answer came.
        Ok(CompleteAnswer::Absent) if retention.is_over(core.clock.now().since(returned)) => {
            owned.ended();
            Settled::Done
        }
        Ok(CompleteAnswer::Absent) => {
            owned.ended();
            // In a box, which keeps this future small for all whose record is still there.
            match Box::pin(write_anew(core, &recorded, retention, wanted)).await {
                Ok(true) => Settled::Done,
                Ok(false) => {
                    observe::completion_lost(&lease.key);
                    Settled::Lost
                }
                Err(error) => {
                    observe::unrecorded(&lease.key, &error);
                    Settled::Done
                }
            }
        }
        Err(error) => {
            observe::unrecorded(&lease.key, &error);
            // Dropping the claim hands its completion to the keeper.
            drop(owned);
            Settled::Done
        }
    }
}

/// The store was emptied while the handler ran: writes the record by a fresh claim, so that the effect just made is not
/// made again. Whether the record is now this run's.
async fn write_anew(
    core: &Arc<Core>,
    recorded: &Recorded,
    retention: Retention,
    wanted: &Wanted,
) -> Result<bool, StoreError> {
    let Wanted { key, fingerprint, policy } = wanted;
    let request = ClaimRequest {
        token: Token::random(),
        owner: &core.owner,
        fingerprint: *fingerprint,
        lease: policy.lease,
        retention: Retention::For(policy.lease * 2),
        held: Retention::For(policy.lease * 2),
        on_lapse: OnLapse::Hold,
        max_attempts: policy.max_attempts,
        supersede: None,
        begun: true,
        fenced: policy.fenced,
    };
    let budget = core.settings.settle_timeout;
    let claimed = ask::within(budget, || core.store.claim(key, &request)).await?;
    if !matches!(claimed, ClaimAnswer::Acquired(_)) {
        return Ok(false);
    }
    let completed = ask::within(budget, || core.store.complete(key, request.token, recorded, retention)).await?;
    Ok(completed == CompleteAnswer::Held)
}

/// Gives a claim back while the caller waits for its own error: a store that is away must not hold that for long.
async fn give_back(core: &Arc<Core>, owned: Owned, work: &Work) -> Settled {
    let lease = Arc::clone(owned.lease());
    let answer = ask::within(core.settings.store_timeout, || {
        observe::store(&*core.store, work.name(), work.give_back(&*core.store, &lease.key, lease.token, lease.length))
    })
    .await;
    match answer {
        Ok(Answer::Held | Answer::Lost) => owned.ended(),
        Err(error) => {
            tracing::warn!(key = %lease.key, %error, "a claim could not be given back; trying in the background");
            drop(owned);
        }
    }
    Settled::Done
}
