//! Which records a command is about.

use std::time::Duration;

use clap::{Args, ValueEnum};
use idempotent_runtime::admin::{Query, Standing};

use crate::span;

/// A page of a scan of everything: so little that a call between two pages does not wait for long.
const SCANNED: usize = 100;

#[derive(Clone, Debug, Args)]
pub(crate) struct Selection {
    /// Only keys with this prefix: `order` is also for `order:consume`, but not for `orders`
    #[arg(long)]
    pub(crate) prefix: Option<String>,
    /// Only records in this state; may be repeated
    #[arg(long = "state", value_enum)]
    pub(crate) states: Vec<State>,
    /// Only records in progress whose owner has been silent for so long, as in `10m`
    #[arg(long, value_parser = span::parse, value_name = "TIME", alias = "older-than")]
    pub(crate) silent_for: Option<Duration>,
    /// Only records that will be gone within this time
    #[arg(long, value_parser = span::parse, value_name = "TIME")]
    pub(crate) expires_within: Option<Duration>,
}

/// The state of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum State {
    /// A live run has it
    InProgress,
    /// In progress, but its lease has lapsed or was given up
    Abandoned,
    /// Released after a failure
    Failed,
    /// Completed
    Completed,
    /// It cannot be read
    Unreadable,
}

impl From<State> for Standing {
    fn from(state: State) -> Self {
        match state {
            State::InProgress => Self::InProgress,
            State::Abandoned => Self::Abandoned,
            State::Failed => Self::Failed,
            State::Completed => Self::Completed,
            State::Unreadable => Self::Unreadable,
        }
    }
}

impl Selection {
    /// Whether it leaves nothing out.
    pub(crate) fn is_everything(&self) -> bool {
        self.prefix.is_none() && self.states.is_empty() && self.silent_for.is_none() && self.expires_within.is_none()
    }

    pub(crate) fn query(&self) -> Query {
        let query = self.prefix.iter().fold(Query::new().page(SCANNED), |query, prefix| query.prefix(prefix));
        let query = self.states.iter().fold(query, |query, state| query.standing((*state).into()));
        let query = self.silent_for.iter().fold(query, |query, time| query.silent_for(*time));
        self.expires_within.iter().fold(query, |query, time| query.expires_within(*time))
    }
}

/// In words, for a question.
impl std::fmt::Display for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let states: Vec<_> = self.states.iter().map(|state| Standing::from(*state).as_str()).collect();
        match states.as_slice() {
            [] => f.write_str("records")?,
            states => write!(f, "{} records", states.join(" and "))?,
        }
        if let Some(prefix) = &self.prefix {
            write!(f, " under `{prefix}:`")?;
        }
        if let Some(time) = self.silent_for {
            write!(f, " whose owner has been silent for {}", span::text(time))?;
        }
        if let Some(time) = self.expires_within {
            write!(f, " that will be gone within {}", span::text(time))?;
        }
        Ok(())
    }
}
