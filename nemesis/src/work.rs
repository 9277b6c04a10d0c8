//! What is done under each key: the policies and the length of its handler follow from its number, so that all
//! processes, and the checker, agree.

use std::time::Duration;

use idempotent_runtime::{OnBusy, OnLost};

/// How long a call may wait for the store before its handler runs.
pub(crate) const STORE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a caller waits for its result to be recorded.
pub(crate) const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);

/// What a busy machine may add to a call.
const SLACK: Duration = Duration::from_millis(1500);

/// How long a duplicate waits that waits.
const WAIT: Duration = Duration::from_secs(1);

/// How long an effect is on its way to the sink: long enough for some stops to fall into it.
pub(crate) const ON_THE_WAY: Duration = Duration::from_millis(30);

/// The lease of most keys: short, so that a killed run is taken over soon.
pub(crate) const LEASE: Duration = Duration::from_secs(3);

/// The lease of keys whose runs go on when the store is silent: longer than any failover, so that nobody takes over.
const LONG_LEASE: Duration = Duration::from_secs(20);

/// The handler of one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Its effects carry a fence, for the sink to judge. Without one the claim is another, plain command.
    pub(crate) fenced: bool,
    pub(crate) lease: Duration,
    pub(crate) on_lost: OnLost,
    pub(crate) on_busy: OnBusy,
    /// Before each effect.
    pub(crate) pause: Duration,
    pub(crate) effects: u32,
    /// Bounds one run.
    pub(crate) timeout: Duration,
}

impl Work {
    pub(crate) fn of(key: u64) -> Self {
        // Most runs are short; one in twelve outlasts its lease, and lives on renewals.
        let (pause, effects, timeout) = match key % 12 {
            7 => (Duration::from_millis(400), 10, Duration::from_secs(8)),
            rest => (Duration::from_millis(10 + 5 * rest), 3, Duration::from_secs(4)),
        };
        let (lease, on_lost) = if key % 4 == 1 { (LONG_LEASE, OnLost::Cancel) } else { (LEASE, OnLost::Strict) };
        let on_busy = if key % 5 == 2 { OnBusy::Wait(WAIT) } else { OnBusy::Reject };
        Self { fenced: key.is_multiple_of(2), lease, on_lost, on_busy, pause, effects, timeout }
    }

    /// No call may take longer.
    pub(crate) fn longest_call(&self) -> Duration {
        // One that waits may look once more when its time is over.
        let waiting = if self.on_busy == OnBusy::Reject { Duration::ZERO } else { WAIT + STORE_TIMEOUT };
        waiting + STORE_TIMEOUT + self.timeout + SETTLE_TIMEOUT + SLACK
    }
}
