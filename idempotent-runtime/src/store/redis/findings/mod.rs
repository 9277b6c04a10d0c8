//! What about a server is dangerous to its records.
//!
//! - here: what can be found, how much it matters, what to do
//! - `look`: asking each server, and reading what it tells
//! - `time`: its clock

mod look;
mod time;

use std::fmt;
use std::time::Duration;

pub(super) use self::time::LastLook;
use crate::admin::Severity;

/// Something about a server that its records may suffer from; [`RedisStore::check`](super::RedisStore::check) finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// When its memory is full, the server throws records away: their duplicates run again.
    Evicts {
        /// Which server.
        server: String,
        /// Its `maxmemory-policy`.
        policy: String,
    },
    /// A restart may forget records: the server does not write each change down (`appendonly no`).
    NotPersistent {
        /// Which server.
        server: String,
    },
    /// Nobody has a copy of the records.
    NoReplica {
        /// Which server.
        server: String,
    },
    /// Fewer replicas are connected than each write is to reach: claims are refused.
    TooFewReplicas {
        /// Which server.
        server: String,
        /// How many are connected.
        connected: usize,
        /// How many were asked for.
        asked: usize,
    },
    /// A write to disk has failed: a restart brings back older records.
    WriteFailed {
        /// Which server.
        server: String,
        /// What the server calls it, such as `aof_last_write_status`.
        what: &'static str,
    },
    /// The Cluster does not serve all slots, as this node sees it: calls of some keys, or of all, are refused.
    ClusterDown {
        /// Which node.
        server: String,
        /// Slots that nobody serves.
        unserved: u32,
    },
    /// The server is of a version that cannot expire a single field: of an entity whose steps are kept in one Hash, a
    /// step that is past its ttl takes up memory until the whole entity goes.
    NoFieldExpiry {
        /// Which server.
        server: String,
        /// Its version, as in `Redis 7.0.15`.
        version: String,
    },
    /// The server's clock shows another time than this machine's. Leases are judged by the server's alone, so it does
    /// no harm, unless another server takes over whose clock is right.
    ClockDiffers {
        /// Which server.
        server: String,
        /// By how much, whichever is ahead.
        by: Duration,
    },
    /// The server's clock was set, or another server with another clock has taken over, since the last look: leases
    /// ended early, or last longer.
    ClockJumped {
        /// Which server.
        server: String,
        /// By how much, forwards or backwards.
        by: Duration,
    },
    /// A question and its answer took long: each guarded call waits for two or three of them.
    Slow {
        /// Which server.
        server: String,
        /// How long it took.
        round_trip: Duration,
    },
}

impl Finding {
    /// How much it matters.
    ///
    /// ```
    /// use idempotent_runtime::store::{Finding, Severity};
    ///
    /// fn alarming(findings: &[Finding]) -> bool {
    ///     findings.iter().any(|finding| finding.severity() == Severity::Serious)
    /// }
    /// assert!(!alarming(&[]));
    /// ```
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::Evicts { .. }
            | Self::TooFewReplicas { .. }
            | Self::WriteFailed { .. }
            | Self::ClusterDown { .. }
            | Self::ClockJumped { .. } => Severity::Serious,
            Self::NotPersistent { .. }
            | Self::NoReplica { .. }
            | Self::NoFieldExpiry { .. }
            | Self::ClockDiffers { .. }
            | Self::Slow { .. } => Severity::Notice,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Evicts { .. } => "set maxmemory-policy to noeviction, and give caches a server of their own",
            Self::NotPersistent { .. } => "set appendonly to yes, unless every run may be repeated after a restart",
            Self::NoReplica { .. } => "add a replica and Sentinels, unless an outage may last until the server is back",
            Self::TooFewReplicas { .. } => "bring back the replicas, or ask for fewer",
            Self::WriteFailed { .. } => "see the server's log: its disk is full, or its folder cannot be written",
            Self::ClusterDown { .. } => {
                "bring back the nodes of the slots that nobody serves (redis-cli --cluster check)"
            }
            Self::NoFieldExpiry { .. } => {
                "use Redis 7.4 or Valkey 9 or later, where many steps share an entity for long"
            }
            Self::ClockDiffers { .. } => "keep all clocks in step (NTP)",
            Self::ClockJumped { .. } => "keep all clocks in step (NTP), and never set one back or forth by hand",
            Self::Slow { .. } => "bring the server nearer, or see what keeps it busy",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evicts { server, policy } => {
                write!(f, "{server} throws records away when its memory is full (maxmemory-policy {policy})")
            }
            Self::NotPersistent { server } => write!(f, "{server} may forget records when it restarts (appendonly no)"),
            Self::NoReplica { server } => write!(f, "{server} has no replica"),
            Self::TooFewReplicas { server, connected, asked } => {
                write!(f, "{server} has {connected} replicas, and each write is to reach {asked}")
            }
            Self::WriteFailed { server, what } => write!(f, "{server} failed to write to its disk ({what})"),
            Self::ClusterDown { server, unserved } => {
                write!(f, "{server} says that the Cluster is down: {unserved} slots are not served")
            }
            Self::NoFieldExpiry { server, version } => {
                write!(f, "{server} is {version}, which cannot expire a single step")
            }
            Self::ClockDiffers { server, by } => {
                write!(f, "{server} has a clock that is {by:?} off from this machine's")
            }
            Self::ClockJumped { server, by } => write!(f, "{server} has a clock that jumped by {by:?}"),
            Self::Slow { server, round_trip } => write!(f, "{server} took {round_trip:?} to answer"),
        }
    }
}
