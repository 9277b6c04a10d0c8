//! Counting records.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Listed, Page, Query, Standing, State};
use crate::error::Error;
use crate::idempotency::Idempotency;

/// Prefixes that are counted apart. Beyond these, in memory at most, all go together.
const PREFIXES: usize = 1000;

/// How many of the longest silent records in progress are kept.
const OLDEST: usize = 10;

/// How many records there are, in which state, under which prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// All of them.
    pub total: Counts,
    /// By prefix, namespace included. A key does not say where its prefix ends: it is taken to be the names in front of
    /// the first part with a digit or an escape in it.
    pub prefixes: BTreeMap<Arc<str>, Counts>,
    /// Under further prefixes, after the first thousand.
    pub others: Counts,
    /// Those in progress whose owner has been silent for the longest time, longest first; ten at the most.
    pub oldest: Vec<Listed>,
}

/// How many records there are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; Standing::ALL.len()]);

impl Counts {
    /// Of one state.
    #[must_use]
    pub fn of(&self, standing: Standing) -> u64 {
        self.0[standing as usize]
    }

    /// Of all states.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    fn count(&mut self, standing: Standing) {
        self.0[standing as usize] += 1;
    }
}

impl Stats {
    /// Counts a page in: for those who go through the [pages](Idempotency::scan) themselves.
    pub fn count(&mut self, page: Page) {
        for listed in page.records {
            self.count_one(listed);
        }
    }

    fn count_one(&mut self, listed: Listed) {
        let standing = listed.standing();
        self.total.count(standing);
        let prefix = likely_prefix(listed.key.entity());
        let has_room = self.prefixes.len() < PREFIXES;
        match self.prefixes.get_mut(prefix) {
            Some(counts) => counts.count(standing),
            None if has_room => self.prefixes.entry(prefix.into()).or_default().count(standing),
            None => self.others.count(standing),
        }
        let Some(silence) = silence(&listed) else { return };
        let place = self.oldest.partition_point(|other| self::silence(other) >= Some(silence));
        if place < OLDEST {
            self.oldest.insert(place, listed);
            self.oldest.truncate(OLDEST);
        }
    }
}

fn silence(listed: &Listed) -> Option<Duration> {
    match listed.record.as_ref().ok()?.state {
        State::InProgress { silent_for, .. } => Some(silent_for),
        State::Failed { .. } | State::Completed(()) => None,
    }
}

/// What is in front of the first part that looks like one, or of the last part. A part that is a mere word is taken for
/// a name; that the number of prefixes is bounded keeps this harmless.
fn likely_prefix(key: &str) -> &str {
    let end = key.rfind(':').unwrap_or(key.len());
    let is_name = |part: &str| !part.is_empty() && !part.bytes().any(|byte| byte.is_ascii_digit() || byte == b'%');
    let mut prefix = 0;
    for part in key[..end].split(':') {
        if prefix > 0 && !is_name(part) {
            break;
        }
        prefix += part.len() + 1;
    }
    &key[..prefix.saturating_sub(1)]
}

impl Idempotency {
    /// Counts the records that `query` selects, page by page and [unhurried](super::Scan::unhurried): what it needs in
    /// memory does not grow with them, and calls go on beside it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::admin::{Query, Standing};
    /// use idempotent_runtime::{Error, Idempotency};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::memory();
    /// let call = idempotency.call("order:consume").key(1001).ttl(Duration::from_secs(60));
    /// call.run(async { Ok::<_, Error>(12) }).await?;
    ///
    /// let stats = idempotency.stats(&Query::new()).await?;
    /// assert_eq!(stats.prefixes["order:consume"].of(Standing::Completed), 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub async fn stats(&self, query: &Query) -> Result<Stats, Error> {
        let mut stats = Stats::default();
        let mut scan = self.scan(query).unhurried();
        while let Some(page) = scan.next().await? {
            stats.count(page);
        }
        Ok(stats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::store::Retention;
    use crate::token::Token;

    #[test]
    fn a_prefix_ends_where_the_parts_seem_to_begin() {
        for (key, prefix) in [
            ("order:consume:1001", "order:consume"),
            ("order:consume:1001:spring", "order:consume"),
            ("shop:order:consume:c-7:1", "shop:order:consume"),
            ("welcome:%~abc", "welcome"),
            ("welcome:ada", "welcome"),
            ("v1:pay:7", "v1:pay"),
            ("1001", "1001"),
            ("", ""),
        ] {
            assert_eq!(likely_prefix(key), prefix, "{key}");
        }
    }

    #[test]
    fn many_prefixes_are_counted_together_in_the_end() {
        let mut stats = Stats::default();
        let name = |number: usize| {
            let letter = |place: usize| char::from(b'a' + u8::try_from(number / place % 26).expect("a letter"));
            [1, 26, 26 * 26].map(letter).iter().collect::<String>()
        };
        for number in 0..PREFIXES + 5 {
            let key = Key::from_text(&format!("{}:1", name(number)));
            stats.count_one(Listed { key, record: Err("spoilt".into()) });
        }
        assert_eq!((stats.prefixes.len(), stats.others.all()), (PREFIXES, 5));
        assert_eq!(stats.total.of(Standing::Unreadable), 1005);
    }

    #[test]
    fn the_longest_silent_are_kept() {
        let mut counted = Stats::default();
        for seconds in [5, 30, 1, 12, 7, 3, 2, 9, 8, 40, 4, 6, 11] {
            let state = State::InProgress {
                remaining: Duration::ZERO,
                silent_for: Duration::from_secs(seconds),
                lease: Duration::from_secs(1),
                begun: true,
                given_up: false,
            };
            let record = super::super::Summary {
                token: Token::from_u128(1),
                attempt: 1,
                owner: "a".into(),
                fingerprint: None,
                state,
                expires_in: Retention::Forever,
            };
            counted.count_one(Listed { key: Key::from_text("p:1"), record: Ok(record) });
        }
        let silences: Vec<_> = counted.oldest.iter().filter_map(silence).map(|time| time.as_secs()).collect();
        assert_eq!(silences, [40, 30, 12, 11, 9, 8, 7, 6, 5, 4]);
    }
}
