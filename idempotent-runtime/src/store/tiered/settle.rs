//! What follows a claim: the truth is told first, and its answer is the answer.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Tiers;
use crate::key::Key;
use crate::record::{Completed, Recorded};
use crate::store::{Answer, CompleteAnswer, Release, Retention, StoreError};
use crate::token::Token;

/// For how long (twice this) the front remembers a token whose lease is not known here.
const REMEMBERED: Duration = Duration::from_secs(30);

/// More completions than these are not without an answer at the same time; if they are, old ones are forgotten.
const MANY: usize = 10_000;

impl Tiers {
    pub(super) async fn begin(&self, key: &Key, token: Token) -> Result<Answer, StoreError> {
        let answer = self.truth.begin(key, token).await?;
        if answer == Answer::Held {
            self.front.confirm(key, token).await;
        }
        Ok(answer)
    }

    /// Goes to both at once, and waits for the truth alone: a front that hangs must not put a lease in doubt.
    pub(super) async fn renew(&self, key: &Key, token: Token) -> Result<Answer, StoreError> {
        let mut truth = self.truth.renew(key, token);
        let answer = {
            let mut front = pin!(self.front.renew(key, token));
            let mut told = false;
            poll_fn(|cx| {
                told = told || front.as_mut().poll(cx).is_ready();
                truth.as_mut().poll(cx)
            })
            .await?
        };
        if answer == Answer::Lost {
            self.front.put_back(key, token, REMEMBERED).await;
        }
        Ok(answer)
    }

    pub(super) async fn complete(
        &self,
        key: &Key,
        token: Token,
        result: &Recorded,
        retention: Retention,
    ) -> Result<CompleteAnswer, StoreError> {
        // An earlier message of this completion may have been carried out: the record is kept from then.
        let since = self.asked_since(token);
        let answer = self.truth.complete(key, token, result, retention).await?;
        self.asked().remove(&token);
        match self.front.keeps(retention, since).filter(|_| answer == CompleteAnswer::Held) {
            Some(kept) => self.front.complete(key, token, result, kept, REMEMBERED).await,
            None => self.front.put_back(key, token, REMEMBERED).await,
        }
        Ok(answer)
    }

    pub(super) async fn release(
        &self,
        key: &Key,
        token: Token,
        release: Release<'_>,
        lease: Duration,
    ) -> Result<Answer, StoreError> {
        let answer = self.truth.release(key, token, release, lease).await?;
        match answer {
            Answer::Held => self.front.release(key, token, release, lease).await,
            Answer::Lost => self.front.put_back(key, token, lease).await,
        }
        Ok(answer)
    }

    /// A completed record that is put back is not put back in the front: the next duplicate leaves a copy there.
    pub(super) async fn put_back(
        &self,
        key: &Key,
        token: Token,
        lease: Duration,
        superseded: Option<(&Completed, Retention)>,
    ) -> Result<Answer, StoreError> {
        let answer = self.truth.put_back(key, token, lease, superseded).await?;
        self.front.put_back(key, token, lease).await;
        Ok(answer)
    }

    /// When the truth was first asked for this completion.
    fn asked_since(&self, token: Token) -> Instant {
        let mut asked = self.asked();
        if asked.len() > MANY {
            asked.retain(|_, since| since.elapsed() < Duration::from_hours(1));
        }
        *asked.entry(token).or_insert_with(Instant::now)
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<Token, Instant>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
