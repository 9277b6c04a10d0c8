//! The token: what makes a claim one call's own.

use std::fmt;

use crate::text64;

/// A random 128-bit number that owns a claim.
///
/// Every call takes a new one, also when the same worker calls again; every message that repeats an operation carries
/// the same one. A store compares tokens before it changes a record, so a late message changes nothing that is not
/// its own.
///
/// ```
/// use idempotent_runtime::Token;
///
/// let token = Token::random();
/// assert_ne!(token, Token::random());
/// assert_eq!(Token::parse(token.text().as_str()), Some(token));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(u128);

impl Token {
    /// A new token, from the thread's generator, which the operating system seeds.
    #[must_use]
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// A token of a given value: for tests and models, which need to name theirs.
    #[must_use]
    pub const fn from_u128(value: u128) -> Self {
        Self(value)
    }

    /// The token as 22 characters of `A-Z a-z 0-9 - _`, without an allocation.
    #[must_use]
    pub fn text(&self) -> TokenText {
        TokenText(text64::encode_u128(self.0))
    }

    /// Reads what [`text`](Self::text) wrote; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text64::decode_u128(text.as_bytes()).map(Self)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.text().as_str())
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

/// The text of a [`Token`], on the stack.
#[derive(Clone, Copy)]
pub struct TokenText([u8; text64::U128_LEN]);

impl TokenText {
    /// The 22 characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        text64::as_str(&self.0)
    }

    /// The 22 characters as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
