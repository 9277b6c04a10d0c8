//! Claims at a steady rate, however long the store takes for them, and how long each took.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use idempotent_runtime::store::{ClaimAnswer, ClaimRequest, CompleteAnswer, OnLapse, Retention};
use idempotent_runtime::{CodecTag, Encoded, Key, Recorded, Store, Token};
use serde::Serialize;
use tokio::task::JoinSet;

/// Whoever claims new keys in a store and completes them.
pub(crate) struct Claims {
    store: Arc<dyn Store>,
    kept: Duration,
    next: AtomicU64,
}

/// How long claims took.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) claims: usize,
    pub(crate) median_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) most_ms: f64,
}

impl Claims {
    /// Its records are kept for so long.
    pub(crate) fn new(store: impl Store + 'static, kept: Duration) -> Arc<Self> {
        Arc::new(Self { store: Arc::new(store), kept, next: AtomicU64::new(0) })
    }

    /// Claims so many keys a second for so long.
    pub(crate) async fn during(self: &Arc<Self>, per_second: u32, time: Duration) -> anyhow::Result<Latency> {
        Ok(self.until(per_second, tokio::time::sleep(time)).await?.0)
    }

    /// Claims so many keys a second until `end` has come; each in a task, so that a slow one holds up no other.
    pub(crate) async fn until<T>(
        self: &Arc<Self>,
        per_second: u32,
        end: impl Future<Output = T>,
    ) -> anyhow::Result<(Latency, T)> {
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / per_second);
        let (mut calls, mut took) = (JoinSet::new(), Vec::new());
        let mut end = pin!(end);
        let ended = loop {
            tokio::select! {
                ended = &mut end => break ended,
                Some(call) = calls.join_next() => took.push(call??),
                _ = ticks.tick() => {
                    let claims = Arc::clone(self);
                    calls.spawn(async move { claims.one().await });
                }
            }
        };
        while let Some(call) = calls.join_next().await {
            took.push(call??);
        }
        Ok((Latency::of(took).context("nothing was claimed")?, ended))
    }

    /// Claims one new key and completes it; how long the claim took.
    async fn one(&self) -> anyhow::Result<Duration> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let key = Key::from_text(&format!("order:claimed:{number}"));
        let (token, retention) = (Token::random(), Retention::For(self.kept));
        let request = ClaimRequest {
            token,
            owner: "9f86d081884c:17",
            fingerprint: None,
            lease: self.kept / 2,
            retention,
            held: retention,
            on_lapse: OnLapse::TakeOver,
            max_attempts: None,
            supersede: None,
            begun: true,
            fenced: false,
        };
        let started = Instant::now();
        let claimed = self.store.claim(&key, &request).await?;
        let took = started.elapsed();
        ensure!(matches!(claimed, ClaimAnswer::Acquired(_)), "{key} was not free: {claimed:?}");
        let bytes = number.to_string().into_bytes().into();
        let result = Recorded::Value(Encoded { codec: CodecTag::JSON, bytes });
        let completed = self.store.complete(&key, token, &result, retention).await?;
        ensure!(completed == CompleteAnswer::Held, "{key} was lost: {completed:?}");
        Ok(took)
    }
}

impl Latency {
    /// `None` where there was no claim.
    fn of(mut took: Vec<Duration>) -> Option<Self> {
        took.sort_unstable();
        let ms = |time: &Duration| time.as_secs_f64() * 1000.0;
        Some(Self {
            claims: took.len(),
            median_ms: ms(took.get(took.len() / 2)?),
            p99_ms: ms(took.get(took.len() * 99 / 100)?),
            most_ms: ms(took.last()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_claim_in_a_hundred_is_slower_than_the_p99() {
        let latency = Latency::of((0..200).rev().map(Duration::from_millis).collect()).expect("there are claims");
        assert_eq!((latency.claims, latency.median_ms, latency.p99_ms, latency.most_ms), (200, 100.0, 198.0, 199.0));
        assert!(Latency::of(Vec::new()).is_none());
    }
}
