//! Whether the front is asked: after a failure it is left alone for a while, and then one caller tries it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::observe;
use crate::store::StoreError;

/// How long a front that has failed is left alone.
const PAUSE: Duration = Duration::from_millis(250);

#[derive(Debug, Default)]
pub(super) struct Health {
    /// Says what the state says, without its lock: every call asks.
    is_away: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The last time that it gave no answer.
    failed: Option<Instant>,
    /// While it is away: when it is asked again.
    away_until: Option<Instant>,
}

impl Health {
    /// Whether to ask now. While the front is away, one caller at a time does, for as long as `patience`.
    pub(super) fn may_ask(&self, patience: Duration) -> bool {
        if !self.is_away() {
            return true;
        }
        let mut state = self.lock();
        let now = Instant::now();
        match state.away_until {
            None => true,
            Some(until) if until <= now => {
                state.away_until = Some(now + patience + PAUSE);
                true
            }
            Some(_) => {
                drop(state);
                observe::front_unavailable();
                false
            }
        }
    }

    pub(super) fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Acquire)
    }

    /// Whether it is of no use to ask just now.
    pub(super) fn is_left_alone(&self) -> bool {
        self.is_away() && self.lock().away_until.is_some_and(|until| Instant::now() < until)
    }

    pub(super) fn answered(&self) {
        if !self.is_away() {
            return;
        }
        let mut state = self.lock();
        let was_away = state.away_until.take().is_some();
        self.is_away.store(false, Ordering::Release);
        drop(state);
        if was_away {
            tracing::info!("the store in front answers again");
        }
    }

    pub(super) fn failed(&self, error: &StoreError) {
        let now = Instant::now();
        let mut state = self.lock();
        state.failed = Some(now);
        let was_away = state.away_until.replace(now + PAUSE).is_some();
        self.is_away.store(true, Ordering::Release);
        drop(state);
        observe::front_unavailable();
        if !was_away {
            tracing::warn!(%error, "the store in front does not answer; the truth is asked alone");
        }
    }

    /// Whether something that was written to the front so long ago was written after it last failed: else it may be
    /// from before a failover, and what came after it lost.
    pub(super) fn is_newer_than_failures(&self, age: Duration) -> bool {
        self.lock().failed.is_none_or(|failed| age < failed.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
