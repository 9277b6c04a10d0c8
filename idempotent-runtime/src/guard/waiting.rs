//! Waiting for another run to end (`on_busy = wait(…)`).
//!
//! A waiter only looks: it changes no record. It is woken by a store that can wake, and looks again by itself
//! elsewhere, with a jittered back-off; at the latest when the other's lease would lapse.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::backoff::Backoff;
use crate::key::Key;
use crate::policy::OnBusy;
use crate::store::{Store, Watch};

/// One call's patience.
pub(super) struct Waiting {
    patience: Duration,
    until: Option<Instant>,
    watch: Option<Watch>,
    backoff: Backoff,
}

/// A lapse is looked for a moment after it is due.
const MARGIN: Duration = Duration::from_millis(5);

impl Waiting {
    pub(super) fn new(on_busy: OnBusy) -> Self {
        let patience = match on_busy {
            OnBusy::Reject => Duration::ZERO,
            OnBusy::Wait(patience) => patience,
        };
        Self { patience, until: None, watch: None, backoff: Backoff::new() }
    }

    /// Waits until it is worth looking again; `false` when the call's patience is at its end.
    pub(super) async fn pause(&mut self, store: &dyn Store, key: &Key, remaining: Duration) -> bool {
        if self.patience.is_zero() {
            return false;
        }
        let until = *self.until.get_or_insert_with(|| Instant::now() + self.patience);
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        let at_most = left.min(remaining.saturating_add(MARGIN));
        match self.watch.take() {
            // The first look was taken without a watch: watch, and look once more before sleeping.
            None => {
                let watch = store.watch(key);
                if watch.wakes() {
                    self.watch = Some(watch);
                } else {
                    sleep(at_most.min(self.backoff.step())).await;
                }
            }
            Some(watch) => {
                let _ = timeout(at_most, watch.ended()).await;
                self.watch = Some(store.watch(key));
            }
        }
        true
    }
}
