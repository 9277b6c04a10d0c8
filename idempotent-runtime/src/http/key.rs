//! The field: from its lines to a key, or to the reason why it is none.

use std::fmt;

use ::http::{HeaderMap, HeaderName};
use sfv::{BareItem, Item, Parser, Version};

/// What a field's value must be.
#[derive(Clone, Debug)]
pub(super) struct KeyRules {
    pub(super) syntax: Syntax,
    pub(super) shortest: usize,
    pub(super) longest: usize,
    pub(super) characters: Characters,
}

/// How a key may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// As a Structured Field String, `"abc"`, and in no other way.
    Strict,
    /// Also bare, `abc`, which is the same key.
    Lenient,
}

/// The characters of which a key may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Characters {
    allowed: [bool; 128],
    /// As it was given, for people and for a pattern; none for all that a String can hold.
    pub(super) class: Option<String>,
}

/// Why a field holds no key. Its text is for the client, and holds nothing of the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyError {
    Repeated,
    NotAString,
    Bare,
    Length { shortest: usize, longest: usize },
    Character,
}

impl Default for KeyRules {
    fn default() -> Self {
        Self { syntax: Syntax::Lenient, shortest: 1, longest: 255, characters: Characters::all() }
    }
}

impl KeyRules {
    /// The key in `headers`; `None` where the field is absent.
    pub(super) fn read(&self, headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, KeyError> {
        let mut lines = headers.get_all(name).iter();
        let Some(value) = lines.next() else { return Ok(None) };
        if lines.next().is_some() {
            return Err(KeyError::Repeated);
        }
        let key = self.parse(value.as_bytes())?;
        self.check(&key)?;
        Ok(Some(key))
    }

    fn parse(&self, value: &[u8]) -> Result<String, KeyError> {
        let value = value.trim_ascii();
        if self.syntax == Syntax::Strict || value.starts_with(b"\"") || value.ends_with(b"\"") {
            return string(value);
        }
        match value {
            [] => Err(KeyError::NotAString),
            bare if bare.iter().all(|&byte| is_bare(byte)) => Ok(bare.iter().map(|&byte| char::from(byte)).collect()),
            _ => Err(KeyError::Bare),
        }
    }

    fn check(&self, key: &str) -> Result<(), KeyError> {
        if key.len() < self.shortest || key.len() > self.longest {
            return Err(KeyError::Length { shortest: self.shortest, longest: self.longest });
        }
        if key.bytes().any(|byte| !self.characters.contains(byte)) {
            return Err(KeyError::Character);
        }
        Ok(())
    }
}

/// A Structured Field Item whose value is a String. Its parameters are parsed, and mean nothing.
fn string(value: &[u8]) -> Result<String, KeyError> {
    let item: Item = Parser::new(value).with_version(Version::Rfc8941).parse().map_err(|_| KeyError::NotAString)?;
    match item.bare_item {
        BareItem::String(text) => Ok(text.as_str().to_owned()),
        _ => Err(KeyError::NotAString),
    }
}

/// Whether a key without quotes may hold the character: not what would make it a list, give it parameters, or end in a
/// quote that was never begun.
pub(super) const fn is_bare(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b',' | b';')
}

impl Characters {
    /// Whatever a Structured Field String can hold: printable ASCII, the space too.
    fn all() -> Self {
        let mut allowed = [false; 128];
        allowed[0x20..0x7f].fill(true);
        Self { allowed, class: None }
    }

    /// Reads a class such as `A-Za-z0-9_-`; `None` where it is empty, not ASCII, or runs backwards.
    pub(super) fn of_class(class: &str) -> Option<Self> {
        let mut allowed = [false; 128];
        let mut rest = class.as_bytes();
        while let Some((&first, after)) = rest.split_first() {
            let (last, after) = match after {
                [b'-', last, after @ ..] => (*last, after),
                _ => (first, after),
            };
            if first < 0x20 || last > 0x7e || first > last {
                return None;
            }
            allowed[usize::from(first)..=usize::from(last)].fill(true);
            rest = after;
        }
        allowed.contains(&true).then(|| Self { allowed, class: Some(class.to_owned()) })
    }

    pub(super) fn contains(&self, byte: u8) -> bool {
        self.allowed.get(usize::from(byte)).copied().unwrap_or_default()
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeated => f.write_str("The field was sent twice. Send it once."),
            Self::NotAString => f.write_str(
                "The field is not a Structured Field String: printable ASCII in double quotes, with \\\" and \\\\ for \
                 quotes and backslashes inside.",
            ),
            Self::Bare => f.write_str(
                "A key without quotes cannot hold spaces, quotes, backslashes, commas or semicolons, nor anything beyond \
                 printable ASCII. Put it in double quotes.",
            ),
            Self::Length { shortest, longest } => write!(f, "The key must have {shortest} to {longest} characters."),
            Self::Character => f.write_str("The key holds a character that is not allowed here."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(rules: &KeyRules, value: &str) -> Result<String, KeyError> {
        let key = rules.parse(value.as_bytes())?;
        rules.check(&key).map(|()| key)
    }

    #[test]
    fn a_class_is_read_as_written() {
        let class = Characters::of_class("a-c_0-9-").unwrap();
        for (byte, allowed) in [(b'a', true), (b'c', true), (b'd', false), (b'5', true), (b'-', true), (b' ', false)] {
            assert_eq!(class.contains(byte), allowed, "{}", char::from(byte));
        }
        for wrong in ["", "z-a", "é", "a\n"] {
            assert_eq!(Characters::of_class(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_key_in_quotes_and_the_same_bare_are_one() {
        let rules = KeyRules::default();
        assert_eq!(parse(&rules, "\"a:b/c\""), parse(&rules, "a:b/c"));
        assert_eq!(parse(&rules, r#""a\"b\\c""#).unwrap(), r#"a"b\c"#);
        assert_eq!(parse(&rules, "\" a \"").unwrap(), " a ", "nothing is trimmed inside quotes");
    }

    #[test]
    fn what_starts_or_ends_with_a_quote_is_a_string_or_nothing() {
        let rules = KeyRules::default();
        for wrong in ["\"abc", "abc\"", "\"a\", \"b\"", "\"a\"b", "\"", "\"\\a\"", "\"é\""] {
            assert_eq!(parse(&rules, wrong), Err(KeyError::NotAString), "{wrong:?}");
        }
    }
}
