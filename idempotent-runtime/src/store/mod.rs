//! The store: where records live, and the few atomic steps that change them.
//!
//! A store keeps one record per key. Every operation is one atomic step, carries the token of one call, and may be
//! applied twice or late: a store must answer a repeated operation as it answered the first (but for
//! [`put_back`](Store::put_back), which leaves nothing of its call to know it by), and must not let a late one change a
//! record that is no longer its own. What each operation answers in each state is written down at the operation, and
//! checked by the conformance suite, which every store and every wrapper runs.
//!
//! Late has a bound: no message may be applied more than a lease after it was sent, nor after the retention of what it
//! completed. That is longer than a record needs to remember a token: two leases where nothing has run, else its
//! retention. A store's client must not keep a message for longer, and should close a connection that it has given up.

#[cfg(feature = "conformance")]
pub mod conformance;
mod machine;
mod memory;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod sql;
mod watch;

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::admin::Admin;
use crate::fingerprint::Fingerprint;
use crate::key::Key;
use crate::record::{Completed, Recorded};
use crate::token::Token;

pub use crate::admin::Severity;
pub use memory::MemoryStore;
#[cfg(feature = "redis")]
pub use redis::{Finding, RedisStore, RedisStoreBuilder};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use sql::{Expired, InTransaction, Migrate, TransactionConnection};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use sql::{Failure, Opened, Session, Table, Tables, Trouble};
#[cfg(feature = "postgres")]
pub use sql::{PostgresStore, PostgresStoreBuilder};
#[cfg(feature = "sqlite")]
pub use sql::{SqliteStore, SqliteStoreBuilder};
pub use watch::Watch;

/// The answer of a store's operation, to be awaited.
pub type Reply<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Where records live.
///
/// The states of a record are *absent*, *in progress*, *failed* (released after a failure: may be claimed at once)
/// and *completed*. A record in progress is *lapsed* when it has not been renewed for its own lease, by the store's
/// clock, or when it was given up. Lease and retention of a record are those that its writer put into it, never the
/// reader's.
///
/// An operation that returns an error may have been applied, may be applied later, or never. The guard repeats it
/// with the same token.
pub trait Store: Any + fmt::Debug + Send + Sync + 'static {
    /// Claims `key` for the call that owns `request.token`.
    ///
    /// | state | answer | record afterwards |
    /// |---|---|---|
    /// | absent | `Acquired`, attempt 1 | in progress |
    /// | failed, own token | `Lost`: this call was released already | unchanged |
    /// | failed, another's, attempts left | `Acquired`, attempt + 1 | in progress |
    /// | failed, no attempt left | `Exhausted` | unchanged |
    /// | in progress, own token, not given up | `Acquired`, same attempt | its lease starts again; begun, if it was or is to be |
    /// | in progress, own token, given up | `Lost` | unchanged |
    /// | in progress, another's, live | `Mismatch` if the fingerprints differ, else `InProgress` | unchanged |
    /// | in progress, another's, lapsed | `Mismatch`; `Exhausted` if no attempt is left after the runs that have begun; `Abandoned` if it had begun, under [`OnLapse::Hold`]; else `Acquired`, attempt + 1 (the same attempt if it had not begun) | in progress in the last case |
    /// | … and had not begun, but had itself found a lapsed claim that had | as if that claim stood there | as there |
    /// | completed, own token | `Completed` | unchanged |
    /// | completed, another's | `Mismatch`; `Acquired`, attempt + 1, if `supersede` is the record's token; else `Completed` | in progress in the second case |
    /// | unreadable | `Unreadable` | unchanged |
    ///
    /// Fingerprints of versions that cannot be compared are `Unreadable`, wherever `Mismatch` could be answered.
    ///
    /// A claim that is made with [`ClaimRequest::begun`] counts as begun once it is `Acquired`, whatever an earlier message
    /// of its call said: its body runs without a further word. One made without waits for [`begin`](Self::begin), and
    /// takes no begun mark away.
    fn claim<'a>(&'a self, key: &'a Key, request: &'a ClaimRequest<'a>) -> Reply<'a, ClaimAnswer>;

    /// Marks a live claim as begun: from now on it counts as a run, and is kept for [`ClaimRequest::held`]. In progress,
    /// own token and live: its lease starts again, `Held`. Anything else: `Lost`, unchanged. Repeating it changes nothing but the lease.
    fn begin<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer>;

    /// Starts the lease again, and with it the record's retention. In progress and own token, also lapsed, but not given
    /// up: `Held`. Anything else: `Lost`, unchanged; nothing is created.
    fn renew<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer>;

    /// Completes the record with `result`, to be kept for `retention`.
    ///
    /// In progress and own token, lapsed or not: completed, `Held`. Completed by own token: `Held`, unchanged.
    /// Absent: `Absent`, nothing is written. Failed, another's, or given up: `Lost`, unchanged, with the completed
    /// record where there is one.
    fn complete<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        result: &'a Recorded,
        retention: Retention,
    ) -> Reply<'a, CompleteAnswer>;

    /// Gives the claim back after a run that failed.
    ///
    /// In progress, own token, begun: `Held`, and the record's retention starts again. Under [`Release::Failed`] it becomes
    /// failed, with attempt and error; under [`Release::GivenUp`] it stays in progress, and counts as lapsed.
    /// In progress, own token, not begun: `Held`, and the record is [put back](Self::put_back) without `superseded`:
    /// a claim and a release that both came late, and nothing has run between them.
    /// Failed (or given up) with own token: `Held`, unchanged. Absent: `Held`, and a failed record of this token
    /// (attempt 0) is kept for two of `lease`, so that its own late claim cannot come alive. Anything else: `Lost`,
    /// unchanged.
    fn release<'a>(&'a self, key: &'a Key, token: Token, release: Release<'a>, lease: Duration) -> Reply<'a, Answer>;

    /// Undoes a claim whose body was never polled. In progress, own token, not given up: `Held`, and the record goes
    /// back to what the claim found:
    ///
    /// | found | record afterwards |
    /// |---|---|
    /// | absent | failed, of this token, attempt 0, for two of `lease` |
    /// | failed | failed again with its attempt and error, now of this token, so that its own late claim cannot come alive; kept for this record's retention |
    /// | lapsed | in progress again as it was (token, owner, attempt, begun mark, whether it was given up), and lapsed: its owner, if it still lives, can renew and complete it |
    /// | completed | `superseded`, for the retention given with it |
    /// | nothing to put back (the claim was itself taken over and put back, or `superseded` is not given), over a run that had begun | in progress, of this token, with the attempts before this claim, and given up: that run's end is still unknown |
    /// | … and otherwise | failed, of this token, with the attempts before this claim: kept for this record's retention where there were any, else for two of `lease` |
    ///
    /// Absent: as [`release`](Self::release). Anything else: `Lost`, unchanged. So is a repetition: nothing of the call is
    /// left to put back, whatever the first message was answered.
    fn put_back<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        lease: Duration,
        superseded: Option<(&'a Completed, Retention)>,
    ) -> Reply<'a, Answer>;

    /// Watches `key` for the end of a run: it was completed, released, given up, or put back. Whatever ends one once the
    /// watch is [ready](Watch::ready) wakes it, so a caller that looks after that misses nothing. A store that wakes
    /// [usually](Watch::usually) may leave out the ends of runs that were shorter than 50 ms. One that cannot wake returns
    /// [`Watch::never`], and its callers poll.
    fn watch(&self, key: &Key) -> Watch;

    /// The store's administration, if it has one.
    fn admin(&self) -> Option<&dyn Admin>;

    /// Where the keeper of this store's leases must live.
    fn home(&self) -> Home;

    /// The store's name in logs and metrics: `memory`, `redis`, …
    fn name(&self) -> &'static str;
}

/// What a call asks for when it claims.
#[derive(Clone, Copy, Debug)]
pub struct ClaimRequest<'a> {
    /// The call's token.
    pub token: Token,
    /// Who claims, for people: host and process by default. At most 64 bytes of printable ASCII without spaces.
    pub owner: &'a str,
    /// Digest of the arguments that must not differ between calls with one key. Where either side has none, there is
    /// nothing to compare.
    pub fingerprint: Option<Fingerprint>,
    /// How long the claim stands unless renewed.
    pub lease: Duration,
    /// How long the record is kept: a claim that has not begun, and a failure. At least twice the lease.
    pub retention: Retention,
    /// How long the record of a run that has begun is kept while nobody knows its end, and of a claim that stands over
    /// such a run; at least `retention`. For ever under `hold`: a person has to resolve it.
    pub held: Retention,
    /// What becomes of a lapsed claim that had begun.
    pub on_lapse: OnLapse,
    /// How many runs may start; `None` for any number.
    pub max_attempts: Option<NonZeroU32>,
    /// Replace the completed record that has this token.
    pub supersede: Option<Token>,
    /// Count the claim as begun at once. Off where [`Store::begin`] will be called: under `hold` or `max_attempts`.
    pub begun: bool,
    /// Ask for a fence, where one costs the store extra.
    pub fenced: bool,
}

/// What becomes of a claim that has begun and then lapsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnLapse {
    /// The next call takes over.
    TakeOver,
    /// The next call is answered `Abandoned`, until somebody resolves the record.
    Hold,
}

/// How long a record is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// From the moment it is written, by the store's clock.
    For(Duration),
    /// Until somebody removes it.
    Forever,
}

impl ClaimRequest<'_> {
    /// How long the record of this claim is kept where it finds no open run.
    #[cfg(feature = "redis")]
    pub(crate) fn kept(&self) -> Retention {
        if self.begun { self.held } else { self.retention }
    }
}

impl Retention {
    /// Whether a record that was written this long ago is gone.
    pub(crate) fn is_over(self, age: Duration) -> bool {
        matches!(self, Self::For(time) if age >= time)
    }
}

/// What a store answers to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimAnswer {
    /// The claim is the call's own.
    Acquired(Acquired),
    /// Another call's live claim stands.
    InProgress {
        /// What is left of its lease, if it is not renewed.
        remaining: Duration,
        /// Which run it is.
        attempt: u32,
        /// Who has it.
        owner: Arc<str>,
    },
    /// The record is completed.
    Completed(Completed),
    /// The record's fingerprint differs from the call's.
    Mismatch,
    /// No attempt is left.
    Exhausted {
        /// How many runs have started.
        attempt: u32,
    },
    /// The run has lapsed, had begun, and is held for a person to resolve.
    Abandoned {
        /// Which run it was.
        attempt: u32,
        /// Who had it.
        owner: Arc<str>,
    },
    /// This call was released or put back already: its late claim must not come alive.
    Lost,
    /// The record cannot be read, and why.
    Unreadable(Arc<str>),
}

/// A claim that was acquired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquired {
    /// Which run of the record this is, from 1.
    pub attempt: u32,
    /// What stood there before. Stays the same when the claim is repeated.
    pub found: Found,
    /// A number that grows with every claim of the key, where the store gives one.
    pub fence: Option<u64>,
}

/// What a claim found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// A failed record.
    Failed,
    /// A lapsed claim: this is a takeover.
    Lapsed {
        /// Whether its run had begun.
        begun: bool,
    },
    /// A completed record, which `supersede` named.
    Completed,
}

/// Whether the record is still the call's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is, and the operation is done (perhaps by an earlier message).
    Held,
    /// It is not; nothing was changed.
    Lost,
}

/// What a store answers to a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompleteAnswer {
    /// The record is completed with the call's result.
    Held,
    /// The record is not the call's own; with the record, where another run has completed.
    Lost(Option<Completed>),
    /// There is no record: the store was emptied, or the record expired.
    Absent,
}

/// Why a claim is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release<'a> {
    /// The run failed and a retry may start at once; with what people shall see of it.
    Failed(&'a str),
    /// The run stopped where nobody can know what it did (`on_crash = hold`).
    GivenUp,
}

/// Where the keeper of a store's leases lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// A thread, a runtime and a connection of its own: for stores behind a network, whose leases must be renewed also
    /// while handlers block their threads, and after the runtime of a call has ended.
    Thread,
    /// The caller's runtime, on its clock: for stores inside the process, so that a paused clock works.
    Caller,
}

/// Why a store could not answer.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    source: Box<dyn StdError + Send + Sync>,
}

/// What kind of trouble a store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// No answer, or a passing refusal (loading, read-only, connection lost): the operation may have been applied.
    /// It is repeated with the same token.
    Unavailable,
    /// The store understood and refuses: wrong password, missing permission, wrong set-up. Repeating is of no use
    /// until somebody has mended it.
    Refused,
    /// The record cannot be read: what stands there is no record, or one of a newer format. Where a claim is asked for,
    /// the answer is [`ClaimAnswer::Unreadable`].
    Unreadable,
}

impl StoreError {
    /// No answer, or a passing refusal; the operation may have been applied.
    pub fn unavailable(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { kind: StoreErrorKind::Unavailable, source: source.into() }
    }

    /// A refusal that will not pass by itself.
    pub fn refused(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { kind: StoreErrorKind::Refused, source: source.into() }
    }

    /// A record that cannot be read, and why: name the key.
    pub fn unreadable(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { kind: StoreErrorKind::Unreadable, source: source.into() }
    }

    /// What kind of trouble it is.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            StoreErrorKind::Unavailable => "the store did not answer",
            StoreErrorKind::Refused => "the store refused",
            StoreErrorKind::Unreadable => "the store holds what is no record",
        })?;
        let mut cause: Option<&dyn StdError> = Some(&*self.source);
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.source)
    }
}
