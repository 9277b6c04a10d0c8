//! Why a request was not run, or could not be answered.

mod rows;

use ::http::StatusCode;

use self::rows::{ROWS, Row};
use crate::error::{Error, ErrorKind};

/// Why a request was not run, or could not be answered. Each has a `type` of its own in the problem that the client gets,
/// which never changes.
///
/// ```
/// use http::StatusCode;
/// use idempotent_runtime::http::Problem;
///
/// assert_eq!(Problem::InFlight.name(), "in-flight"); // its type ends in `#in-flight`
/// assert_eq!(Problem::InFlight.status(), StatusCode::CONFLICT);
/// assert!(Problem::InFlight.is_passing(), "it has `Retry-After`");
/// assert!(!Problem::KeyReused.is_passing());
/// ```
///
/// | problem | status | `Retry-After` |
/// |---|---|---|
/// | [`KeyMissing`](Self::KeyMissing), [`KeyInvalid`](Self::KeyInvalid), [`KeyPartMissing`](Self::KeyPartMissing), [`BodyUnreadable`](Self::BodyUnreadable) | 400 | |
/// | [`ScopeMissing`](Self::ScopeMissing) | 403 | |
/// | [`InFlight`](Self::InFlight) | 409 | yes |
/// | [`ResponseNotStored`](Self::ResponseNotStored) | 410 | |
/// | [`BodyTooLarge`](Self::BodyTooLarge) | 413 | |
/// | [`KeyReused`](Self::KeyReused) | 422 | |
/// | [`OutcomeUnknown`](Self::OutcomeUnknown), [`Exhausted`](Self::Exhausted), [`RecordUnreadable`](Self::RecordUnreadable), [`Failed`](Self::Failed), [`Misconfigured`](Self::Misconfigured) | 500 | |
/// | [`StoreUnavailable`](Self::StoreUnavailable), [`Overloaded`](Self::Overloaded), [`TimedOut`](Self::TimedOut) | 503 | yes |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Problem {
    /// The field is required and absent.
    KeyMissing,
    /// The field's value is no key.
    KeyInvalid,
    /// A value of which the key of an annotated function is made is missing or empty.
    KeyPartMissing,
    /// The key was used for another request.
    KeyReused,
    /// The request with this key is being processed.
    InFlight,
    /// Nobody can say whose request it is.
    ScopeMissing,
    /// The request's body is over the limit.
    BodyTooLarge,
    /// The request's body could not be read to its end.
    BodyUnreadable,
    /// The request was processed, and its response cannot be given again.
    ResponseNotStored,
    /// An earlier attempt stopped half way; a person has to find out what it did.
    OutcomeUnknown,
    /// As many attempts as are allowed have failed.
    Exhausted,
    /// The action failed for good.
    Failed,
    /// What was stored cannot be read.
    RecordUnreadable,
    /// The store cannot be asked; nothing was run.
    StoreUnavailable,
    /// Too many bodies are in memory; nothing was run.
    Overloaded,
    /// Processing took longer than is allowed.
    TimedOut,
    /// The server's settings cannot be used.
    Misconfigured,
}

impl Problem {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::KeyMissing,
        Self::KeyInvalid,
        Self::KeyPartMissing,
        Self::KeyReused,
        Self::InFlight,
        Self::ScopeMissing,
        Self::BodyTooLarge,
        Self::BodyUnreadable,
        Self::ResponseNotStored,
        Self::OutcomeUnknown,
        Self::Exhausted,
        Self::Failed,
        Self::RecordUnreadable,
        Self::StoreUnavailable,
        Self::Overloaded,
        Self::TimedOut,
        Self::Misconfigured,
    ];

    /// The problem that an error of the runtime is to a client.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        match error.kind() {
            // Lost to another run: that one is under way, or done.
            ErrorKind::Busy | ErrorKind::ClaimLost => Self::InFlight,
            ErrorKind::Mismatch => Self::KeyReused,
            ErrorKind::Duplicate | ErrorKind::ResultUnavailable => Self::ResponseNotStored,
            ErrorKind::Failed => Self::Failed,
            ErrorKind::Indeterminate => Self::OutcomeUnknown,
            ErrorKind::Exhausted => Self::Exhausted,
            ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::StoreUnavailable | ErrorKind::TransactionConflict => Self::StoreUnavailable,
            ErrorKind::Unreadable => Self::RecordUnreadable,
            ErrorKind::MissingKeyPart => Self::KeyPartMissing,
            ErrorKind::Fingerprint
            | ErrorKind::NotInstalled
            | ErrorKind::AlreadyInstalled
            | ErrorKind::TransactionFailed
            | ErrorKind::Configuration => Self::Misconfigured,
        }
    }

    /// The last part of its `type`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Its status, unless another was chosen.
    #[must_use]
    pub fn status(self) -> StatusCode {
        self.row().status
    }

    /// Its title.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.row().title
    }

    pub(super) fn detail(self) -> &'static str {
        self.row().detail
    }

    /// What is said of an annotated function's call, whose key the client has not made: other than of a request, where that
    /// would speak of the client's key.
    #[cfg(feature = "axum")]
    pub(super) fn detail_inside(self) -> Option<&'static str> {
        match self {
            Self::KeyReused => Some("This was asked for before, with other values. Nothing was run."),
            Self::InFlight => Some("This is being processed already. Send the request again later."),
            _ => None,
        }
    }

    /// Whether the same request may succeed later without anybody's help.
    #[must_use]
    pub fn is_passing(self) -> bool {
        matches!(self, Self::InFlight | Self::StoreUnavailable | Self::Overloaded | Self::TimedOut)
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_has_its_own_row() {
        for (at, problem) in Problem::ALL.into_iter().enumerate() {
            assert_eq!(problem as usize, at, "{problem:?}");
            let spelt = format!("{problem:?}").to_lowercase();
            let name = problem.name().replace('-', "").replace("attempts", "");
            assert_eq!(spelt, name);
        }
    }
}
