//! The clock by which a worker measures its own lease.
//!
//! A lease runs on while a machine is suspended, so the clock must count suspension too: `std::time::Instant` does
//! not on Linux. Stores inside the process are measured on tokio's clock, so that a paused clock works.

use std::time::Duration;

use crate::store::Home;

/// A moment on a [`Clock`], as the time since an origin of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Duration);

impl Moment {
    pub(crate) fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }

    /// The time from `earlier` to this moment; zero if it is not earlier.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Which clock a handle's leases are measured on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    /// The machine's, suspension included (`CLOCK_BOOTTIME`, clock_gettime(2)).
    Machine,
    /// Tokio's, from a given origin.
    Tokio(tokio::time::Instant),
}

impl Clock {
    pub(crate) fn of(home: Home) -> Self {
        match home {
            Home::Thread => Self::Machine,
            Home::Caller => Self::Tokio(tokio::time::Instant::now()),
        }
    }

    pub(crate) fn now(self) -> Moment {
        Moment(match self {
            Self::Machine => machine_time(),
            Self::Tokio(origin) => origin.elapsed(),
        })
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn machine_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Elsewhere the standard clock has to do; on macOS and Windows it stands still while the machine sleeps, which
/// `DESIGN.md` names among the limits.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn machine_time() -> Duration {
    static ORIGIN: once_cell::sync::Lazy<std::time::Instant> = once_cell::sync::Lazy::new(std::time::Instant::now);
    ORIGIN.elapsed()
}
