//! What a store says of itself.

use std::fmt;
use std::sync::Arc;

/// Something that the records of a store may suffer from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concern {
    /// How much it matters.
    pub severity: Severity,
    /// What was found, and where.
    pub what: Arc<str>,
    /// What to do about it.
    pub advice: Arc<str>,
}

impl Concern {
    /// What was found, and what to do.
    ///
    /// ```
    /// use idempotent_runtime::admin::{Concern, Severity};
    ///
    /// let concern = Concern::new(Severity::Serious, "the disk is full", "make room");
    /// assert_eq!(concern.to_string(), "the disk is full: make room");
    /// ```
    #[must_use]
    pub fn new(severity: Severity, what: impl fmt::Display, advice: &str) -> Self {
        Self { severity, what: what.to_string().into(), advice: advice.into() }
    }
}

impl fmt::Display for Concern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.advice)
    }
}

/// How much something matters that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Good to know, and often as it should be.
    Notice,
    /// Handlers will run twice, or not at all.
    Serious,
}

/// What a sweep came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// So many records were removed.
    Removed(u64),
    /// The store forgets by itself what has expired: there is nothing to do.
    ByItself,
}
