//! What people see: one span a call, one log line an event, counters.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use tracing::Span;
use tracing::field::Empty;

use crate::admin::Decision;
use crate::error::Error;
use crate::idempotency::Core;
use crate::key::Key;
use crate::outcome::{Outcome, OutcomeKind};
use crate::store::{Reply, Store, StoreError};

/// The span that a call, its store operations and its handler run in.
pub(crate) fn span(key: &Key, owner: &Arc<str>) -> Span {
    tracing::info_span!(
        "idempotent",
        prefix = key.prefix(),
        key = key.as_str(),
        owner = &**owner,
        outcome = Empty,
        attempt = Empty
    )
}

/// What is measured of one call.
#[derive(Debug, Default)]
pub(crate) struct Call {
    #[cfg(feature = "metrics")]
    running: Option<meter::Running>,
    /// When the call began, where somebody counts what claims take.
    #[cfg(feature = "dashboard")]
    asked: Option<std::time::Instant>,
}

impl Call {
    /// The call begins.
    #[cfg_attr(not(feature = "dashboard"), expect(unused_variables, clippy::unused_self))]
    pub(crate) fn asks(&mut self, core: &Core) {
        #[cfg(feature = "dashboard")]
        {
            self.asked = core.tally.get().map(|_| std::time::Instant::now());
        }
    }

    /// The claim is answered.
    #[cfg_attr(not(feature = "dashboard"), expect(unused_variables, clippy::unused_self))]
    pub(crate) fn decided(&mut self, core: &Core, key: &Key) {
        #[cfg(feature = "dashboard")]
        if let Some((tally, asked)) = core.tally.get().zip(self.asked.take()) {
            tally.claimed(key.prefix(), asked.elapsed());
        }
    }

    /// The handler starts to run.
    #[cfg_attr(not(feature = "metrics"), expect(unused_variables, clippy::unused_self))]
    pub(crate) fn running(&mut self, key: &Key) {
        #[cfg(feature = "metrics")]
        {
            self.running = Some(meter::Running::new(key.prefix()));
        }
    }

    /// The handler has returned, or is gone.
    #[cfg_attr(not(feature = "metrics"), expect(clippy::unused_self))]
    pub(crate) fn stopped(&mut self) {
        #[cfg(feature = "metrics")]
        {
            self.running = None;
        }
    }

    /// The call has ended.
    pub(crate) fn ended(&mut self, core: &Core, span: &Span, key: &Key, outcome: &Outcome) {
        self.stopped();
        #[cfg(feature = "dashboard")]
        if let Some(tally) = core.tally.get() {
            tally.ended(key, outcome);
        }
        span.record("outcome", outcome.as_str());
        if let Some(attempt) = outcome.attempt() {
            span.record("attempt", attempt);
        }
        if outcome.kind() != OutcomeKind::Executed {
            tracing::debug!(parent: span, outcome = outcome.as_str(), "ended without a first execution");
        }
        #[cfg(feature = "metrics")]
        metrics::counter!("idempotent_calls_total", "prefix" => key.prefix().to_owned(), "outcome" => outcome.as_str())
            .increment(1);
        let _ = (core, key);
    }
}

/// Somebody has changed a record: the audit line, and what the page remembers of the key.
pub(crate) fn changed_by_hand(core: &Core, key: &Key, change: &'static str, decision: Decision<'_>, attempt: u32) {
    let Decision { who, why } = decision;
    tracing::warn!(target: "idempotent::audit", %key, change, who, why, attempt, "a record was changed by hand");
    #[cfg(feature = "dashboard")]
    if let Some(tally) = core.tally.get() {
        tally.decided(key, change, decision);
    }
    let _ = core;
}

/// Times one operation of the store.
#[cfg(feature = "metrics")]
pub(crate) async fn store<T>(store: &dyn Store, operation: &'static str, reply: Reply<'_, T>) -> Result<T, StoreError> {
    let started = std::time::Instant::now();
    let answer = reply.await;
    metrics::histogram!("idempotent_store_seconds", "store" => store.name(), "operation" => operation)
        .record(started.elapsed());
    answer
}

/// Times one operation of the store, where somebody counts.
#[cfg(not(feature = "metrics"))]
pub(crate) fn store<'a, T>(_: &dyn Store, _: &'static str, reply: Reply<'a, T>) -> Reply<'a, T> {
    reply
}

/// A call was refused before it had a key.
pub(crate) fn refused_early(error: &Error) {
    tracing::warn!(%error, "refused");
}

/// Handlers of this program share their records.
#[cfg(feature = "registry")]
pub(crate) fn shared_prefix(concern: &crate::admin::Concern) {
    tracing::warn!(found = %concern.what, advice = %concern.advice, "handlers share their records");
}

/// A run starts after a failed one.
pub(crate) fn retry(key: &Key, attempt: u32) {
    tracing::debug!(%key, attempt, "runs again after a failure");
    count("idempotent_retries_total");
}

/// A run starts after one whose lease has lapsed.
pub(crate) fn takeover(key: &Key, attempt: u32) {
    tracing::warn!(%key, attempt, "took over a claim whose lease had lapsed");
    count("idempotent_takeovers_total");
}

/// A completed record was refused by `verify`, and is replaced.
pub(crate) fn refuted(key: &Key) {
    tracing::warn!(%key, "the completed record has no effect to show for; running again");
    count("idempotent_refuted_total");
}

/// A run was cancelled because another had taken over.
pub(crate) fn claim_lost(key: &Key) {
    tracing::warn!(%key, "the claim was lost to another run; cancelled");
    count("idempotent_claims_lost_total");
}

/// A run has ended, but another run has the record.
pub(crate) fn completion_lost(key: &Key) {
    tracing::warn!(%key, "another run has the record; this run's result stands beside it");
    count("idempotent_claims_lost_total");
}

/// A result could not be recorded in time.
pub(crate) fn unrecorded(key: &Key, error: &StoreError) {
    tracing::warn!(%key, %error, "the result is not recorded yet; trying in the background while the claim is ours");
    count("idempotent_unrecorded_total");
}

/// A call is completed without its result.
pub(crate) fn no_result(key: &Key, why: &dyn Display) {
    tracing::warn!(%key, %why, "completed without a result; duplicates will be told so");
    count("idempotent_unrecorded_total");
}

/// A handler runs without a guard.
pub(crate) fn unguarded(key: &Key, error: &StoreError) {
    tracing::warn!(%key, %error, "the store is away; running unguarded");
    count("idempotent_unguarded_total");
}

/// A store in front of another did not answer, or was not asked since it does not: the other is asked alone.
pub(crate) fn front_unavailable() {
    count("idempotent_front_unavailable_total");
}

/// What a call would have been, had it not been in shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Would {
    /// Answered from the record.
    Replayed,
    /// Refused, for good or for a person to look.
    Refused,
    /// Told to come back, or made to wait: another run is in progress.
    Held,
}

/// A handler runs in shadow that would not have run.
pub(crate) fn shadow(key: &Key, would: Would, why: &dyn Display) {
    let would = match would {
        Would::Replayed => "replayed",
        Would::Refused => "refused",
        Would::Held => "held",
    };
    tracing::debug!(%key, would, %why, "in shadow: running all the same");
    #[cfg(feature = "metrics")]
    metrics::counter!("idempotent_shadow_total", "prefix" => key.prefix().to_owned(), "would" => would).increment(1);
}

/// How long the oldest claim that is kept has stood, as often as somebody looks after it.
pub(crate) fn oldest_in_progress(store: &dyn Store, age: Duration) {
    #[cfg(feature = "metrics")]
    metrics::gauge!("idempotent_oldest_in_progress_seconds", "store" => store.name()).set(age.as_secs_f64());
    let _ = (store, age);
}

fn count(name: &'static str) {
    #[cfg(feature = "metrics")]
    metrics::counter!(name).increment(1);
    let _ = name;
}

#[cfg(feature = "metrics")]
mod meter {
    use std::time::Instant;

    /// One running handler: counted while it runs, timed when it ends.
    #[derive(Debug)]
    pub(super) struct Running {
        prefix: String,
        started: Instant,
    }

    impl Running {
        pub(super) fn new(prefix: &str) -> Self {
            metrics::gauge!("idempotent_in_progress", "prefix" => prefix.to_owned()).increment(1);
            Self { prefix: prefix.to_owned(), started: Instant::now() }
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            let prefix = std::mem::take(&mut self.prefix);
            metrics::gauge!("idempotent_in_progress", "prefix" => prefix.clone()).decrement(1);
            metrics::histogram!("idempotent_handler_seconds", "prefix" => prefix).record(self.started.elapsed());
        }
    }
}
