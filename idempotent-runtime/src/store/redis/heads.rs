//! What this process wrote of its own live claims.
//!
//! A completed record keeps the owner and the fingerprint of its claim. A script can take them from the record in
//! progress, but that costs the server a tenth of a first call; and the process that completes is nearly always the
//! one that claimed. So the store remembers the head of each claim until the call ends, and sends the completed record
//! whole. It is a saving and nothing else: what is not remembered is taken from the record.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::fields::Written;
use crate::key::Key;
use crate::token::Token;

/// Heads that are remembered at the most. When there are more, some belong to calls that never ended here, and
/// nobody knows which: all are forgotten.
const MOST: usize = 1 << 16;

/// What is remembered of a claim.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// What stands in a record between its state and what belongs to that state.
    pub(super) text: Vec<u8>,
    /// When it was asked for.
    pub(super) asked: Instant,
    /// When it was written, where that was told.
    pub(super) written: Option<Written>,
}

/// The heads of live claims.
#[derive(Debug, Default)]
pub(super) struct Heads(Mutex<HashMap<Token, (Key, Head)>>);

impl Heads {
    pub(super) fn remember(&self, key: &Key, token: Token, head: Head) {
        let mut heads = self.all();
        if heads.len() >= MOST {
            heads.clear();
        }
        heads.insert(token, (key.clone(), head));
    }

    /// Gives back what was remembered, and forgets it.
    pub(super) fn take(&self, key: &Key, token: Token) -> Option<Head> {
        let (of, head) = self.all().remove(&token)?;
        (of.as_str() == key.as_str()).then_some(head)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Token, (Key, Head)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(asked: Instant) -> Head {
        Head { text: vec![1], asked, written: None }
    }

    #[test]
    fn heads_are_given_back_once_and_never_pile_up() {
        let (heads, asked) = (Heads::default(), Instant::now());
        let key = Key::from_text("order:1");
        let token = |number: usize| Token::from_u128(number as u128);
        for number in 0..=MOST {
            heads.remember(&key, token(number), head(asked));
        }
        assert_eq!(heads.all().len(), 1);
        assert_eq!(heads.take(&key, token(MOST)), Some(head(asked)));
        assert_eq!(heads.take(&key, token(MOST)), None);
    }

    #[test]
    fn a_head_belongs_to_its_key() {
        let heads = Heads::default();
        let (key, other, token) = (Key::from_text("order:1"), Key::from_text("order:2"), Token::from_u128(1));
        let asked = Instant::now();
        heads.remember(&key, token, head(asked));
        assert_eq!(heads.take(&other, token), None);
        let (step, other) = (Key::from_text("order:1[init_token]"), Key::from_text("order:1[payment_status]"));
        for not_its in [other, key] {
            heads.remember(&step, token, head(asked));
            assert_eq!(heads.take(&not_its, token), None, "{not_its}");
        }
        heads.remember(&step, token, head(asked));
        assert_eq!(heads.take(&step, token), Some(head(asked)));
    }
}
