//! What goes wrong in these handlers.

use idempotent_runtime::ErrorKind;
use serde::{Deserialize, Serialize};

/// A handler's error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Failed {
    /// Of its own.
    Declined,
    /// Of the database.
    Sql(String),
    /// Of the runtime.
    #[serde(skip)]
    Call(Said),
}

/// What the runtime said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) kind: ErrorKind,
    pub(crate) text: String,
    pub(crate) is_retryable: bool,
    pub(crate) hints: bool,
}

impl Failed {
    /// What kind of error of the runtime it is.
    pub(crate) fn kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Call(said) => Some(said.kind),
            _ => None,
        }
    }
}

impl From<idempotent_runtime::Error> for Failed {
    fn from(error: idempotent_runtime::Error) -> Self {
        Self::Call(Said {
            kind: error.kind(),
            text: error.to_string(),
            is_retryable: error.is_retryable(),
            hints: error.retry_after().is_some(),
        })
    }
}

impl From<sqlx::Error> for Failed {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error.to_string())
    }
}
