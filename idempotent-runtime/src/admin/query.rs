//! Which records are asked for, and where in the list.

use std::fmt;
use std::time::Duration;

use super::{Listed, Standing, State};
use crate::store::Retention;

/// The page that is asked for unless another size is given.
const PAGE: usize = 100;

/// The largest page: what is in memory at once.
const LARGEST_PAGE: usize = 1000;

/// Which records, and how many at a time. Every condition must hold; without any, all records are asked for.
///
/// ```
/// use std::time::Duration;
/// use idempotent_runtime::admin::{Query, Standing};
///
/// let stuck = Query::new().prefix("order:consume").standing(Standing::Abandoned).silent_for(Duration::from_secs(3600));
/// assert_eq!(stuck.key_beginning(), "order:consume:");
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Query {
    beginning: String,
    standings: Vec<Standing>,
    silent_for: Option<Duration>,
    expires_within: Option<Duration>,
    page: Option<usize>,
    after: Option<Cursor>,
}

impl Query {
    /// All records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only keys with this prefix, or whose prefix goes on from it after a colon: `order` asks for `order:1` and for
    /// `order:consume:1`, but not for `orders:1`. No character has a meaning of its own. Without the namespace of a
    /// handle, which adds it.
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.beginning = format!("{prefix}:");
        self
    }

    /// Only keys whose text begins so, whatever it is.
    pub fn beginning(mut self, text: &str) -> Self {
        text.clone_into(&mut self.beginning);
        self
    }

    /// Only records in this state; said several times, in any of these.
    pub fn standing(mut self, standing: Standing) -> Self {
        self.standings.push(standing);
        self
    }

    /// Only records in progress whose owner has not been heard of for so long: not since the claim, or its last renewal.
    ///
    /// That is the only age that every store knows: a record that has ended does not say when.
    pub fn silent_for(mut self, time: Duration) -> Self {
        self.silent_for = Some(time);
        self
    }

    /// Only records that will be gone within this time, unless they are renewed.
    pub fn expires_within(mut self, time: Duration) -> Self {
        self.expires_within = Some(time);
        self
    }

    /// About how many records a page has: 100 by default, from 1 to 1000.
    pub fn page(mut self, size: usize) -> Self {
        self.page = Some(size);
        self
    }

    /// Goes on after a page.
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.after = Some(cursor);
        self
    }

    /// The same within a namespace.
    pub(crate) fn within(mut self, namespace: Option<&str>) -> Self {
        if let Some(namespace) = namespace {
            self.beginning = format!("{namespace}:{}", self.beginning);
        }
        self
    }

    /// For stores: how the keys begin; empty for all keys. No character in it has a meaning.
    #[must_use]
    pub fn key_beginning(&self) -> &str {
        &self.beginning
    }

    /// For stores: about how many records to give, or to look at.
    #[must_use]
    pub fn page_size(&self) -> usize {
        self.page.unwrap_or(PAGE).clamp(1, LARGEST_PAGE)
    }

    /// For stores: where to go on.
    #[must_use]
    pub fn cursor(&self) -> Option<&Cursor> {
        self.after.as_ref()
    }

    /// For stores: whether a record meets every condition.
    #[must_use]
    pub fn selects(&self, listed: &Listed) -> bool {
        listed.key.as_str().starts_with(&self.beginning)
            && (self.standings.is_empty() || self.standings.contains(&listed.standing()))
            && self.silent_for.is_none_or(|time| silence(listed).is_some_and(|silent| silent >= time))
            && self.expires_within.is_none_or(|time| left(listed).is_some_and(|left| left <= time))
    }
}

fn silence(listed: &Listed) -> Option<Duration> {
    match listed.record.as_ref().ok()?.state {
        State::InProgress { silent_for, .. } => Some(silent_for),
        State::Failed { .. } | State::Completed(()) => None,
    }
}

fn left(listed: &Listed) -> Option<Duration> {
    match listed.record.as_ref().ok()?.expires_in {
        Retention::For(left) => Some(left),
        Retention::Forever => None,
    }
}

/// A place in a list, in a store's own words. It is text, so that it can be handed on; only the store that gave it
/// understands it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cursor(Box<str>);

impl Cursor {
    /// For stores, and for whoever has kept its text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cursor({:?})", self.0)
    }
}
