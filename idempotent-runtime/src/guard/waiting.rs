//! Waiting for another run to end (`on_busy = wait(…)`).
//!
//! A waiter only looks: it changes no record. It is woken by a store that can wake, and looks again by itself with a
//! jittered back-off unless the store surely wakes; at the latest when the other's lease would lapse. Where a store
//! usually wakes, the first looks come as soon as without it, and the later ones seldom: they are there for what was
//! lost, and for runs so short that waking is not worth its while.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::backoff::Backoff;
use super::flight::Following;
use crate::key::Key;
use crate::lease::Lease;
use crate::policy::OnBusy;
use crate::store::{Store, Watch};

/// One call's patience.
pub(super) struct Waiting {
    patience: Duration,
    begun: Option<Instant>,
    watched: Watched,
    backoff: Backoff,
}

/// How far a call is with watching.
enum Watched {
    Not,
    /// What ends now may be missed.
    Soon(Watch),
    /// What ends now wakes.
    Ready(Watch),
}

/// A lapse is looked for a moment after it is due.
const MARGIN: Duration = Duration::from_millis(5);

/// The longest pause between two looks where a watch usually wakes.
const SELDOM: Duration = Duration::from_secs(2);

impl Waiting {
    pub(super) fn new(on_busy: OnBusy) -> Self {
        let patience = match on_busy {
            OnBusy::Reject => Duration::ZERO,
            OnBusy::Wait(patience) => patience,
        };
        Self { patience, begun: None, watched: Watched::Not, backoff: Backoff::new() }
    }

    /// Waits until it is worth looking again; `false` when the call's patience is at its end.
    pub(super) async fn pause(&mut self, store: &dyn Store, key: &Key, remaining: Duration) -> bool {
        let left = self.left();
        if left.is_zero() {
            return false;
        }
        let at_most = left.min(remaining.saturating_add(MARGIN));
        match std::mem::replace(&mut self.watched, Watched::Not) {
            Watched::Not => self.watch(store.watch(key), at_most).await,
            Watched::Soon(watch) => self.watch(watch, at_most).await,
            Watched::Ready(mut watch) => {
                let pause = if watch.is_sure() { at_most } else { at_most.min(self.backoff.step_up_to(SELDOM)) };
                if timeout(pause, watch.ended()).await.is_err() {
                    self.watched = Watched::Ready(watch);
                } else {
                    // The next run may be a short one.
                    self.backoff = Backoff::new();
                    // Made before the other is given up: so the store goes on watching.
                    self.watch(store.watch(key), at_most).await;
                }
            }
        }
        true
    }

    /// The same for a run of this process: its call tells when it ends.
    pub(super) async fn pause_here(&mut self, following: &mut Following, lease: &Lease) -> bool {
        let left = self.left();
        if left.is_zero() {
            return false;
        }
        // When the lease is in doubt, the store is to be asked.
        following.ended(left.min(lease.remaining())).await;
        true
    }

    /// What is left of the call's patience, from the first pause.
    fn left(&mut self) -> Duration {
        if self.patience.is_zero() {
            return Duration::ZERO;
        }
        let begun = *self.begun.get_or_insert_with(Instant::now);
        self.patience.saturating_sub(begun.elapsed())
    }

    /// Watches, for one look more before sleeping: the last one was taken without the watch.
    async fn watch(&mut self, mut watch: Watch, at_most: Duration) {
        let pause = at_most.min(self.backoff.step());
        if !watch.wakes() {
            return sleep(pause).await;
        }
        let asked = Instant::now();
        self.watched = match timeout(pause, watch.ready()).await {
            Err(_) => Watched::Soon(watch),
            Ok(true) => Watched::Ready(watch),
            Ok(false) => {
                sleep(pause.saturating_sub(asked.elapsed())).await;
                Watched::Not
            }
        };
    }
}
