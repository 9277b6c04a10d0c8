//! Policies: what a handler's options come to.

use std::num::NonZeroU32;
use std::time::Duration;

/// The default lease: long against a hiccup of the store, short against a crash.
pub(crate) const DEFAULT_LEASE: Duration = Duration::from_secs(30);

/// The longest lease: beyond it a crash blocks its key for longer than a day.
pub(crate) const LONGEST_LEASE: Duration = Duration::from_hours(24);

/// The shortest lease and ttl: below it a store's clock and a round trip cannot tell live from lapsed.
pub(crate) const SHORTEST: Duration = Duration::from_millis(10);

/// How long a completed record is kept: the window in which duplicates are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// For this long after the completion.
    For(Duration),
    /// Until somebody removes it.
    Forever,
    /// Given by each call, before it runs.
    PerCall,
}

/// What a duplicate of a completed action gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// The recorded value.
    #[default]
    Replay,
    /// The type's default value; nothing is recorded.
    Skip,
    /// An error of kind `Duplicate`; nothing is recorded.
    Reject,
}

/// What a duplicate of an action in progress gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBusy {
    /// An error of kind `Busy`.
    #[default]
    Reject,
    /// It waits this long for the run to end, then replays; after that, `Busy`.
    Wait(Duration),
}

/// What a claim that lapsed means to the next call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCrash {
    /// Run again.
    #[default]
    Rerun,
    /// Nobody knows what the run did: hold the key until somebody resolves it.
    Hold,
}

/// What a call does when the store cannot be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnOutage {
    /// Not run: an error of kind `StoreUnavailable`.
    #[default]
    Reject,
    /// Run unguarded; counted and logged.
    Run,
}

/// What becomes of a running handler whose claim is in doubt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLost {
    /// Cancelled when the store says that another run has taken over.
    #[default]
    Cancel,
    /// Cancelled also when the store cannot be asked for a whole lease.
    Strict,
    /// Never cancelled.
    Finish,
}

/// How an error of the handler is settled: what a function named in `on_error` returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The claim is released: a retry may run at once.
    Release,
    /// The failure is final: duplicates get an error of kind `Failed` with this summary.
    Reject(String),
}

/// Everything that the attribute says about a handler, as far as it is known when the handler is compiled.
#[derive(Clone, Debug)]
pub struct Handler {
    pub(crate) prefix: &'static str,
    pub(crate) keys: &'static [&'static str],
    pub(crate) policy: Policy,
}

/// The options of one handler, or of one call of the functional form.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // flags of the attribute, independent of each other
pub(crate) struct Policy {
    pub(crate) ttl: Ttl,
    pub(crate) lease: Duration,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) on_busy: OnBusy,
    pub(crate) on_crash: OnCrash,
    pub(crate) on_outage: OnOutage,
    pub(crate) on_lost: OnLost,
    pub(crate) max_attempts: Option<NonZeroU32>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) fenced: bool,
    pub(crate) hidden: bool,
    pub(crate) existing: bool,
    pub(crate) verify: bool,
}

impl Policy {
    /// Whether a run has to be marked as begun before its first poll: where a claim that lapses is not simply run
    /// again, it matters whether its body ever ran.
    pub(crate) fn begins(&self) -> bool {
        self.on_crash == OnCrash::Hold || self.max_attempts.is_some()
    }

    pub(crate) const fn new(ttl: Ttl) -> Self {
        Self {
            ttl,
            lease: DEFAULT_LEASE,
            on_duplicate: OnDuplicate::Replay,
            on_busy: OnBusy::Reject,
            on_crash: OnCrash::Rerun,
            on_outage: OnOutage::Reject,
            on_lost: OnLost::Cancel,
            max_attempts: None,
            timeout: None,
            fenced: false,
            hidden: false,
            existing: false,
            verify: false,
        }
    }
}

impl Handler {
    /// A handler whose calls each say their `ttl`, with the defaults of all other options.
    #[must_use]
    pub const fn new(prefix: &'static str, keys: &'static [&'static str]) -> Self {
        Self { prefix, keys, policy: Policy::new(Ttl::PerCall) }
    }

    /// Sets `ttl`, the same for all calls.
    #[must_use]
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.policy.ttl = Ttl::For(ttl);
        self
    }

    /// Sets `ttl = forever`.
    #[must_use]
    pub const fn forever(mut self) -> Self {
        self.policy.ttl = Ttl::Forever;
        self
    }

    /// Sets `lease`.
    #[must_use]
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.policy.lease = lease;
        self
    }

    /// Sets `on_duplicate`.
    #[must_use]
    pub const fn on_duplicate(mut self, on_duplicate: OnDuplicate) -> Self {
        self.policy.on_duplicate = on_duplicate;
        self
    }

    /// Sets `on_busy`.
    #[must_use]
    pub const fn on_busy(mut self, on_busy: OnBusy) -> Self {
        self.policy.on_busy = on_busy;
        self
    }

    /// Sets `on_crash`.
    #[must_use]
    pub const fn on_crash(mut self, on_crash: OnCrash) -> Self {
        self.policy.on_crash = on_crash;
        self
    }

    /// Sets `on_outage`.
    #[must_use]
    pub const fn on_outage(mut self, on_outage: OnOutage) -> Self {
        self.policy.on_outage = on_outage;
        self
    }

    /// Sets `on_lost`.
    #[must_use]
    pub const fn on_lost(mut self, on_lost: OnLost) -> Self {
        self.policy.on_lost = on_lost;
        self
    }

    /// Sets `max_attempts`.
    #[must_use]
    pub const fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.policy.max_attempts = NonZeroU32::new(max_attempts);
        self
    }

    /// Sets `timeout`.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.policy.timeout = Some(timeout);
        self
    }

    /// Sets `fenced`.
    #[must_use]
    pub const fn fenced(mut self) -> Self {
        self.policy.fenced = true;
        self
    }

    /// Sets `hidden`.
    #[must_use]
    pub const fn hidden(mut self) -> Self {
        self.policy.hidden = true;
        self
    }

    /// Says that the body is preceded by `existing`.
    #[must_use]
    pub const fn existing(mut self) -> Self {
        self.policy.existing = true;
        self
    }

    /// Says that the body is preceded by `verify`.
    #[must_use]
    pub const fn verify(mut self) -> Self {
        self.policy.verify = true;
        self
    }
}
