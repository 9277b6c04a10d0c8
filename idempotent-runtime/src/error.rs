//! The error of every call that did not run, or whose answer cannot be given.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::record::NoResult;

/// Why a call was not run, or could not be answered.
///
/// A handler's own errors are never wrapped in it: it reaches the caller through the handler's error type, by `From`
/// or by the option `map_err`. Its text says what happened, to which key, and what to do.
///
/// ```
/// use idempotent_runtime::{Error, ErrorKind};
///
/// # #[derive(Debug)]
/// enum OrderError {
///     Kitchen(String),
///     Idempotency(Error),
/// }
///
/// impl From<Error> for OrderError {
///     fn from(error: Error) -> Self {
///         Self::Idempotency(error)
///     }
/// }
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    key: Option<Arc<str>>,
    detail: Detail,
    retry_after: Option<Duration>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What happened in this case.
enum Detail {
    Text(Cow<'static, str>),
    /// Which run is in progress: written out only for who reads it, since a busy key is told so often.
    Run {
        attempt: u32,
        owner: Arc<str>,
    },
}

/// What kind of [`Error`] it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The key is in progress elsewhere. Come back after [`Error::retry_after`]: the first run may yet fail.
    Busy,
    /// The same key came with other arguments. Nothing ran, and the record is untouched.
    Mismatch,
    /// The action is completed, and the handler's option is `on_duplicate = reject`.
    Duplicate,
    /// The action is completed, but no result was recorded: it was too large, could not be serialised, or the handler
    /// did not record results then.
    ResultUnavailable,
    /// The action ended in a failure that was recorded as final; the text holds its summary.
    Failed,
    /// An earlier run stopped where nobody can know what it did. A person, or the option `existing`, must resolve the
    /// record.
    Indeterminate,
    /// As many runs as `max_attempts` allows have started without completing.
    Exhausted,
    /// Another run took the key over while this one stood still; this one was cancelled.
    ClaimLost,
    /// The run took longer than `timeout`.
    TimedOut,
    /// The store did not answer in time, or refused; nothing ran. [`source`](StdError::source) says why.
    StoreUnavailable,
    /// Another transaction was first (PostgreSQL's 40001 and 40P01, SQLite's `SQLITE_BUSY`), so the whole of the caller's
    /// transaction has to be repeated; only of calls with `within`. Nothing of the call stands.
    TransactionConflict,
    /// The caller's transaction had failed already, by a statement whose error was ignored; only of calls with `within`.
    TransactionFailed,
    /// The stored record cannot be read: corrupt, of a newer format, or of another type. Nothing ran.
    Unreadable,
    /// A key part is missing or empty; the text names the expression.
    MissingKeyPart,
    /// The fingerprint cannot be computed.
    Fingerprint,
    /// No runtime is installed and none is in scope.
    NotInstalled,
    /// A runtime was installed before.
    AlreadyInstalled,
    /// A setting cannot be used: a URL, a prefix, a duration.
    Configuration,
}

impl ErrorKind {
    /// The name in logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Mismatch => "mismatch",
            Self::Duplicate => "duplicate",
            Self::ResultUnavailable => "result_unavailable",
            Self::Failed => "failed",
            Self::Indeterminate => "indeterminate",
            Self::Exhausted => "exhausted",
            Self::ClaimLost => "claim_lost",
            Self::TimedOut => "timed_out",
            Self::StoreUnavailable => "store_unavailable",
            Self::TransactionConflict => "transaction_conflict",
            Self::TransactionFailed => "transaction_failed",
            Self::Unreadable => "unreadable",
            Self::MissingKeyPart => "missing_key_part",
            Self::Fingerprint => "fingerprint",
            Self::NotInstalled => "not_installed",
            Self::AlreadyInstalled => "already_installed",
            Self::Configuration => "configuration",
        }
    }

    /// What happened and what to do, with `{}` where the key goes.
    fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::Busy => ("another call is running", "try again later, and do not acknowledge the message before"),
            Self::Mismatch => (
                "the same key came with other arguments",
                "use a new key for a new action, or send the first arguments again",
            ),
            Self::Duplicate => ("the action is already completed", "acknowledge it: there is nothing left to do"),
            Self::ResultUnavailable => (
                "the action is completed, but its result was not recorded",
                "look the result up where the action left it",
            ),
            Self::Failed => ("the action failed for good", "look at the first failure before sending it again"),
            Self::Indeterminate => (
                "an earlier run stopped and nobody can know what it did",
                "find out whether the effect happened, then resolve or release the record",
            ),
            Self::Exhausted => {
                ("every allowed attempt has started and none completed", "find the cause, then allow one more attempt")
            }
            Self::ClaimLost => ("another run took over while this one stood still", "leave it to the other run"),
            Self::TimedOut => ("the run took longer than its timeout", "try again, or allow it more time"),
            Self::StoreUnavailable => ("the store is unavailable, nothing ran", "try again later"),
            Self::TransactionConflict => {
                ("another transaction was first", "roll this one back and repeat the whole of it")
            }
            Self::TransactionFailed => (
                "the transaction has failed already, by a statement before",
                "find the error that was ignored, and roll the transaction back",
            ),
            Self::Unreadable => {
                ("the stored record cannot be read, nothing ran", "read it with a newer version, or remove it by hand")
            }
            Self::MissingKeyPart => ("a key part is missing or empty, nothing ran", "send a message that has it"),
            Self::Fingerprint => ("the fingerprint cannot be computed, nothing ran", "mend the argument's `Serialize`"),
            Self::NotInstalled => (
                "no idempotency runtime is installed",
                "call `Idempotency::connect(url).await?.install()?` at start, run the call inside `idempotency.scope(…)`, or name one with `via`",
            ),
            Self::AlreadyInstalled => (
                "an idempotency runtime is installed already",
                "install one at start; use `scope` or `via` for further ones",
            ),
            Self::Configuration => ("the setting cannot be used", "correct it"),
        }
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        let detail = Detail::Text(Cow::Borrowed(""));
        Self(Box::new(Inner { kind, key: None, detail, retry_after: None, source: None }))
    }

    pub(crate) fn configuration(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Configuration).detail(detail)
    }

    /// A completed action whose result was not recorded.
    pub(crate) fn without_result(why: NoResult) -> Self {
        Self::new(ErrorKind::ResultUnavailable).detail(match why {
            NoResult::NotWanted => "the handler did not record results then",
            NoResult::TooLarge => "it was too large",
            NoResult::NotSerialisable => "it could not be serialised",
        })
    }

    pub(crate) fn key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.0.key = Some(key.into());
        self
    }

    pub(crate) fn detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.0.detail = Detail::Text(detail.into());
        self
    }

    /// The run that is in the way.
    pub(crate) fn of_run(mut self, attempt: u32, owner: &Arc<str>) -> Self {
        self.0.detail = Detail::Run { attempt, owner: Arc::clone(owner) };
        self
    }

    pub(crate) fn after(mut self, retry_after: Duration) -> Self {
        self.0.retry_after = Some(retry_after);
        self
    }

    pub(crate) fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What kind of error it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the same call may succeed later without anybody's help.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::Busy
                | ErrorKind::StoreUnavailable
                | ErrorKind::TimedOut
                | ErrorKind::ClaimLost
                | ErrorKind::TransactionConflict
        )
    }

    /// When to come back, where the error knows: a short jittered time, never beyond the remaining lease.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The key, unless it is unknown; a hidden one shows a digest of its parts.
    #[must_use]
    pub fn record_key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    pub(crate) fn shared_key(&self) -> Option<Arc<str>> {
        self.0.key.clone()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, advice) = self.kind().text();
        f.write_str(what)?;
        if let Some(key) = &self.0.key {
            write!(f, " (key `{key}`)")?;
        }
        match &self.0.detail {
            Detail::Text(text) if text.is_empty() => {}
            detail => write!(f, ": {detail}")?,
        }
        if let Some(source) = self.source() {
            write!(f, ": {source}")?;
        }
        write!(f, "; {advice}")
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Run { attempt, owner } => write!(f, "attempt {attempt} by {owner}"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Error");
        out.field("kind", &self.0.kind).field("key", &self.0.key).field("detail", &self.0.detail.to_string());
        if let Some(after) = self.0.retry_after {
            out.field("retry_after", &after);
        }
        out.field("source", &self.0.source).finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
