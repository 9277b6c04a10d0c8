//! Taking over what was done before there were records: a claim that never begins, and its completion.

use std::time::Duration;

use super::ask;
use crate::idempotency::Core;
use crate::key::Key;
use crate::record::Recorded;
use crate::store::{Acquired, ClaimAnswer, ClaimRequest, CompleteAnswer, Found, OnLapse, Retention, StoreError};
use crate::token::Token;

/// Between the claim and its completion: a process that dies there leaves a claim that has not begun, which the next call
/// takes over as if nothing had been.
const LEASE: Duration = Duration::from_secs(30);

/// Completes the record of a key where there is none; whether there was none.
///
/// Dropped half way, it leaves the claim to lapse.
pub(crate) async fn import(
    core: &Core,
    key: &Key,
    result: &Recorded,
    retention: Retention,
) -> Result<bool, StoreError> {
    let token = Token::random();
    let short = Retention::For(LEASE * 2);
    let request = ClaimRequest {
        token,
        owner: &core.owner,
        fingerprint: None,
        lease: LEASE,
        retention: short,
        held: short,
        on_lapse: OnLapse::Hold,
        max_attempts: None,
        supersede: None,
        begun: false,
        fenced: false,
    };
    let budget = core.settings.settle_timeout;
    match ask::within(budget, || core.store.claim(key, &request)).await? {
        ClaimAnswer::Acquired(Acquired { found: Found::Absent, .. }) => {
            let completed = ask::within(budget, || core.store.complete(key, token, result, retention)).await?;
            Ok(completed == CompleteAnswer::Held)
        }
        // There is a record: of a failure, or of a claim that has lapsed.
        ClaimAnswer::Acquired(_) => {
            ask::within(budget, || core.store.put_back(key, token, LEASE, None)).await?;
            Ok(false)
        }
        _ => Ok(false),
    }
}
