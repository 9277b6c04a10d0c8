//! What the client's errors mean to the store.

use sqlx::Error;
use sqlx::error::DatabaseError;

use crate::store::StoreError;

/// Why a statement has no answer that the store can use.
#[derive(Debug)]
pub(super) enum Failure {
    /// The database let another transaction win: to be decided anew.
    Conflict(Error),
    /// The store cannot answer.
    Store {
        error: StoreError,
        /// What the connection is still good for.
        connection: After,
    },
}

/// What a connection is still good for after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The next statement.
    Usable,
    /// Nothing.
    Broken,
}

impl Failure {
    pub(super) fn of(error: Error) -> Self {
        let (passing, connection) = match &error {
            Error::Database(answer) => match judge(&**answer) {
                Judged::Conflict => return Self::Conflict(error),
                Judged::Passing(connection) => (true, connection),
                Judged::Refused => (false, After::Usable),
            },
            Error::Io(_) | Error::WorkerCrashed | Error::Protocol(_) => (true, After::Broken),
            // A connection that cannot be made safe, settings that cannot be read, a row of another shape.
            _ => (false, After::Broken),
        };
        let error = if passing { StoreError::unavailable(error) } else { StoreError::refused(error) };
        Self::Store { error, connection }
    }

    pub(super) fn connection(&self) -> After {
        match self {
            Self::Conflict(_) => After::Usable,
            Self::Store { connection, .. } => *connection,
        }
    }

    pub(super) fn into_error(self) -> StoreError {
        match self {
            Self::Conflict(error) => StoreError::unavailable(error),
            Self::Store { error, .. } => error,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store { error, connection: After::Broken }
    }
}

/// What an error in a caller's transaction means to the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Another transaction has the key, and did not end in time.
    Busy,
    /// Another transaction was first: the whole of this one has to be repeated.
    Conflict,
    /// The transaction had failed already, by a statement before.
    Failed,
    /// There is no transaction.
    NoTransaction,
    /// The database does not answer, or not now.
    Away,
    /// It understood, and refuses.
    Refused,
}

impl Trouble {
    pub(super) fn of(error: &Error) -> Self {
        let Error::Database(answer) = error else {
            return match error {
                Error::Io(_) | Error::WorkerCrashed | Error::Protocol(_) => Self::Away,
                _ => Self::Refused,
            };
        };
        let code = answer.code().unwrap_or_default();
        if let Some(sqlite) = sqlite_code(&**answer, &code) {
            return match sqlite & 0xff {
                // BUSY (of a deferred transaction, whose snapshot is old) and LOCKED.
                5 | 6 => Self::Conflict,
                7 | 10 | 13 | 15 => Self::Away,
                _ => Self::Refused,
            };
        }
        match &*code {
            "55P03" => Self::Busy,
            "40001" | "40P01" => Self::Conflict,
            "25P02" => Self::Failed,
            "25P01" => Self::NoTransaction,
            "57014" | "25006" => Self::Away,
            code if ["08", "53", "57P", "58"].iter().any(|class| code.starts_with(class)) => Self::Away,
            _ => Self::Refused,
        }
    }
}

enum Judged {
    Conflict,
    Passing(After),
    Refused,
}

/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>, <https://www.sqlite.org/rescode.html>
fn judge(error: &dyn DatabaseError) -> Judged {
    let code = error.code().unwrap_or_default();
    if let Some(sqlite) = sqlite_code(error, &code) {
        // The low byte is the primary code: BUSY, LOCKED, NOMEM, IOERR, FULL, PROTOCOL pass; the rest is a refusal.
        return match sqlite & 0xff {
            5 | 6 | 7 | 10 | 13 | 15 => Judged::Passing(After::Usable),
            _ => Judged::Refused,
        };
    }
    match &*code {
        "40001" | "40P01" => Judged::Conflict,
        // A standby: its primary may be elsewhere by now, so the connection is of no use.
        "25006" => Judged::Passing(After::Broken),
        // Time-outs and cancellations.
        "55P03" | "57014" => Judged::Passing(After::Usable),
        // Lost, out of resources, shutting down or starting.
        code if ["08", "53", "57P", "58"].iter().any(|class| code.starts_with(class)) => Judged::Passing(After::Broken),
        _ => Judged::Refused,
    }
}

#[cfg(feature = "sqlite")]
fn sqlite_code(error: &dyn DatabaseError, code: &str) -> Option<u32> {
    error.try_downcast_ref::<sqlx::sqlite::SqliteError>()?;
    code.parse().ok()
}

#[cfg(not(feature = "sqlite"))]
fn sqlite_code(_: &dyn DatabaseError, _: &str) -> Option<u32> {
    None
}
