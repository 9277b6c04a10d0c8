//! The claim: the front first, and then the truth, whose word alone lets a call run.

use tokio::time::{Instant, timeout};

use super::Tiers;
use super::front::Word;
use crate::admin::{Inspected, State};
use crate::key::Key;
use crate::record::Completed;
use crate::store::{ClaimAnswer, ClaimRequest, Found, Retention, StoreError};

impl Tiers {
    /// What few calls do is boxed where it is done: every duplicate allocates this future.
    ///
    /// Dropped at any point, or failed at the truth, it may leave a claim of this token in either store: the guard puts it
    /// back in both, or asks again.
    pub(super) async fn claim(&self, key: &Key, request: &ClaimRequest<'_>) -> Result<ClaimAnswer, StoreError> {
        match self.front.claim(key, request).await {
            Word::Answer(answer) => Ok(answer),
            word => Box::pin(self.claim_of_truth(key, request, word)).await,
        }
    }

    /// Claims in the truth, where the front has no answer.
    async fn claim_of_truth(
        &self,
        key: &Key,
        request: &ClaimRequest<'_>,
        word: Word,
    ) -> Result<ClaimAnswer, StoreError> {
        let answer = self.truth.claim(key, request).await?;
        match (&word, &answer) {
            // The front counts as the truth does: what it says of this run is right.
            (Word::Ours { attempt }, ClaimAnswer::Acquired(acquired)) if acquired.attempt == *attempt => {
                self.confirm_begun(key, request).await;
            }
            (Word::Ours { .. }, ClaimAnswer::Completed(record)) => {
                Box::pin(self.leave_copy(key, request, record)).await;
            }
            // Its duplicates are told by the truth while it runs; the first after it leaves a copy.
            (Word::Ours { .. }, _) => self.front.put_back(key, request.token, request.lease).await,
            // What the front may still show is there no more.
            (word, ClaimAnswer::Acquired(acquired))
                if matches!(word, Word::Stale) || acquired.found == Found::Completed =>
            {
                Box::pin(self.front.forget(key, request.token)).await;
            }
            _ => {}
        }
        Ok(answer)
    }

    /// The front had no copy: it gets one in place of this call's claim.
    async fn leave_copy(&self, key: &Key, request: &ClaimRequest<'_>, record: &Completed) {
        // The answer is known, and must not wait for long.
        if timeout(self.front.timeout(), self.copy(key, request, record)).await.is_err() {
            self.front.owe_forgetting(key, request.token);
        }
    }

    /// A call that begins with its claim is confirmed with it; another when it begins.
    async fn confirm_begun(&self, key: &Key, request: &ClaimRequest<'_>) {
        if request.begun {
            self.front.confirm(key, request.token).await;
        }
    }

    async fn copy(&self, key: &Key, request: &ClaimRequest<'_>, record: &Completed) {
        let asked = Instant::now();
        let kept = self.left(key, record).await.and_then(|left| self.front.keeps(left, asked));
        let Some(kept) = kept else {
            return self.front.put_back(key, request.token, request.lease).await;
        };
        self.front.copy(key, request.token, record, kept).await;
        // Whoever has taken the record out of the truth meanwhile may have found no copy yet to take out of the front.
        if self.left(key, record).await.is_none() {
            self.front.forget(key, request.token).await;
        }
    }

    /// For how long the truth still keeps this very record; `None` where that is not so, or cannot be told.
    async fn left(&self, key: &Key, record: &Completed) -> Option<Retention> {
        let seen: Inspected = self.truth.admin()?.inspect(key).await.ok()??;
        let same = seen.token == record.token
            && seen.attempt == record.attempt
            && matches!(&seen.state, State::Completed(result) if *result == record.result);
        same.then_some(seen.expires_in)
    }
}
