//! A record as a person sees it, alone or in a list.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Cursor;
use crate::fingerprint::Fingerprint;
use crate::key::Key;
use crate::record::Recorded;
use crate::store::Retention;
use crate::token::Token;

/// A record, as a person sees it. In a list it comes without its result: a [`Summary`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected<R = Recorded> {
    /// The token of the claim that wrote the record last.
    pub token: Token,
    /// How many runs have started, this one included: a claim in progress counts even before it has begun.
    pub attempt: u32,
    /// Who claimed it last; empty where the record does not say.
    pub owner: Arc<str>,
    /// The fingerprint of the call that claimed, if it had one.
    pub fingerprint: Option<Fingerprint>,
    /// What state it is in.
    pub state: State<R>,
    /// For how long the record is still kept, unless it is renewed.
    pub expires_in: Retention,
}

/// A record without its result.
pub type Summary = Inspected<()>;

/// The state of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State<R = Recorded> {
    /// A run has it.
    InProgress {
        /// What is left of its lease; zero when it has lapsed or was given up.
        remaining: Duration,
        /// How long ago its lease began: since it was claimed, begun or renewed, whichever was last.
        silent_for: Duration,
        /// Its lease.
        lease: Duration,
        /// Whether its body had begun.
        begun: bool,
        /// Whether it was given up.
        given_up: bool,
    },
    /// Released after a failure: the next call runs.
    Failed {
        /// What was recorded of the failure; in a list its beginning.
        last_error: Arc<str>,
    },
    /// Completed.
    Completed(R),
}

/// What a person calls the state of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Standing {
    /// A live run has it.
    InProgress,
    /// In progress, but its lease has lapsed or was given up.
    Abandoned,
    /// Released after a failure.
    Failed,
    /// Completed.
    Completed,
    /// It cannot be read.
    Unreadable,
}

/// What must be the same for a record to be as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The token of the claim that wrote it last.
    pub token: Token,
    /// How many runs have started.
    pub attempt: u32,
    /// Its state, with what must not change of that.
    pub marks: Marks,
}

/// What must not change of a record's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// In progress.
    InProgress {
        /// Whether its body had begun.
        begun: bool,
        /// Whether it was given up.
        given_up: bool,
    },
    /// Failed.
    Failed,
    /// Completed.
    Completed,
}

/// A record in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its key. Of a key that was read from a store, [`Key::prefix`] is a guess.
    pub key: Key,
    /// The record, or why it cannot be read.
    pub record: Result<Summary, Arc<str>>,
}

/// Some of the records, and where the others are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The records.
    pub records: Vec<Listed>,
    /// Where to go on; `None` at the end.
    pub next: Option<Cursor>,
}

impl<R> Inspected<R> {
    /// How many runs have begun.
    pub(crate) fn runs(&self) -> u32 {
        let begun = !matches!(self.state, State::InProgress { begun: false, .. });
        if begun { self.attempt } else { self.attempt.saturating_sub(1) }
    }

    /// Whether a live run has the record.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(&self.state, State::InProgress { remaining, .. } if !remaining.is_zero())
    }

    /// What a person calls its state.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match self.state {
            State::InProgress { .. } if self.is_live() => Standing::InProgress,
            State::InProgress { .. } => Standing::Abandoned,
            State::Failed { .. } => Standing::Failed,
            State::Completed(_) => Standing::Completed,
        }
    }

    /// What must be the same later for it to be as it is now.
    #[must_use]
    pub fn seen(&self) -> Seen {
        let marks = match self.state {
            State::InProgress { begun, given_up, .. } => Marks::InProgress { begun, given_up },
            State::Failed { .. } => Marks::Failed,
            State::Completed(_) => Marks::Completed,
        };
        Seen { token: self.token, attempt: self.attempt, marks }
    }

    /// Whether a record that was seen as `self` may be changed when it is found as `now`: nobody has claimed, renewed,
    /// settled or changed it since.
    #[must_use]
    pub fn is_still(&self, now: &Self) -> bool {
        self.seen() == now.seen() && !now.is_live()
    }
}

impl Listed {
    /// What a person calls its state.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.record.as_ref().map_or(Standing::Unreadable, Summary::standing)
    }
}

impl Standing {
    /// Each of them.
    pub const ALL: [Self; 5] = [Self::InProgress, Self::Abandoned, Self::Failed, Self::Completed, Self::Unreadable];

    /// The word, as in `in-progress`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in-progress",
            Self::Abandoned => "abandoned",
            Self::Failed => "failed",
            Self::Completed => "completed",
            Self::Unreadable => "unreadable",
        }
    }

    /// Reads the word; `None` for any other.
    ///
    /// ```
    /// use idempotent_runtime::admin::Standing;
    ///
    /// assert_eq!(Standing::parse("abandoned"), Some(Standing::Abandoned));
    /// assert_eq!(Standing::parse("lost"), None);
    /// ```
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|standing| standing.as_str() == word)
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
