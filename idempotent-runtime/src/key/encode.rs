//! From parts to text: escaping, bounding, naming what is missing.

use std::cell::Cell;
use std::fmt::{self, Write as _};

use super::{Key, KeyPart, Secret};

/// Beyond this many bytes of escaped parts a digest takes their place.
const LONGEST_PARTS: usize = 200;

/// Stands before a digest. A `%` inside a part is always followed by two hexadecimal digits, so no part spells it.
const DIGEST_MARK: &str = ":%~";

/// A key part that is missing or empty: two calls without it would share a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingPart;

/// Takes the parts of a key, one by one, and writes them so that they cannot run into each other.
///
/// This is what an implementation of [`KeyPart`] is given.
#[derive(Debug)]
pub struct KeyParts<'a> {
    text: &'a mut String,
}

impl KeyParts<'_> {
    /// Adds one part.
    ///
    /// # Errors
    ///
    /// [`MissingPart`] when `part` is empty.
    pub fn push(&mut self, part: &str) -> Result<(), MissingPart> {
        self.push_display(&part)
    }

    /// Adds one part by its `Display` text, without an allocation.
    ///
    /// The text must be stable: the same value must give the same text in every version of your program.
    ///
    /// # Errors
    ///
    /// [`MissingPart`] when the text is empty, or when `part` fails to write itself.
    pub fn push_display(&mut self, part: &dyn fmt::Display) -> Result<(), MissingPart> {
        self.text.push(':');
        let start = self.text.len();
        write!(Escaped(self.text), "{part}").map_err(|_| MissingPart)?;
        if self.text.len() == start { Err(MissingPart) } else { Ok(()) }
    }
}

/// Writes text with everything escaped that has a meaning in a key, in a pattern or on a terminal.
struct Escaped<'a>(&'a mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Ids are mostly plain ASCII, and that is told quickly.
        if text.bytes().all(|byte| PLAIN[usize::from(byte)]) {
            self.0.push_str(text);
            return Ok(());
        }
        let mut plain = 0;
        for (at, char) in text.char_indices() {
            if !(char.is_control() || has_meaning(char)) {
                continue;
            }
            self.0.push_str(&text[plain..at]);
            plain = at + char.len_utf8();
            for byte in text[at..plain].bytes() {
                write!(self.0, "%{byte:02X}")?;
            }
        }
        self.0.push_str(&text[plain..]);
        Ok(())
    }
}

/// Whether a character has a meaning in a key or in a pattern.
const fn has_meaning(char: char) -> bool {
    matches!(char, ':' | '%' | '{' | '}' | '*' | '?' | '[' | ']')
}

/// Which bytes are ASCII characters that are never escaped.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        plain[byte as usize] = !byte.is_ascii_control() && !has_meaning(byte as char);
        byte += 1;
    }
    plain
};

/// Builds the key, with its parts hidden if there is a secret to hide them with; on a missing part, says which one by its
/// position in `parts`. The step is a name that was checked.
pub(crate) fn encode(
    namespace: Option<&str>,
    prefix: &str,
    parts: &[&dyn KeyPart],
    step: Option<&str>,
    secret: Option<&Secret>,
) -> Result<Key, usize> {
    let mut key = KeyBuilder::new(namespace, prefix);
    for part in parts {
        key.push(*part);
    }
    key.finish(step, secret)
}

thread_local! {
    /// The buffer that the last key was built in. Taken while one is built: a part may build a key itself.
    static BUFFER: Cell<String> = const { Cell::new(String::new()) };
}

/// A key in the making.
#[derive(Debug)]
pub(crate) struct KeyBuilder {
    text: String,
    prefix: (usize, usize),
    parts: usize,
    missing: Option<usize>,
}

impl KeyBuilder {
    pub(crate) fn new(namespace: Option<&str>, prefix: &str) -> Self {
        let mut text = BUFFER.take();
        text.clear();
        if let Some(namespace) = namespace {
            text.push_str(namespace);
            text.push(':');
        }
        let start = text.len();
        text.push_str(prefix);
        Self { prefix: (start, text.len()), text, parts: 0, missing: None }
    }

    /// The prefix, without the namespace.
    pub(crate) fn prefix(&self) -> &str {
        &self.text[self.prefix.0..self.prefix.1]
    }

    pub(crate) fn push(&mut self, part: &dyn KeyPart) {
        let before = self.text.len();
        let written = part.encode(&mut KeyParts { text: &mut self.text });
        if written.is_err() || self.text.len() == before {
            self.missing.get_or_insert(self.parts);
        }
        self.parts += 1;
    }

    /// The key, with its parts hidden if there is a secret; on a missing part, its position. A key without parts misses
    /// the first.
    pub(crate) fn finish(mut self, step: Option<&str>, secret: Option<&Secret>) -> Result<Key, usize> {
        let (_, end) = self.prefix;
        if let Some(missing) = self.missing.or((self.parts == 0).then_some(0)) {
            return Err(missing);
        }
        let digest = match secret {
            // The whole text, so that nobody sees that two handlers work on one customer.
            Some(secret) => Some(secret.digest(self.text.as_bytes())),
            None if self.text.len() - end > LONGEST_PARTS => Some(blake3::hash(&self.text.as_bytes()[end..])),
            None => None,
        };
        if let Some(digest) = digest {
            self.text.truncate(end);
            self.text.push_str(DIGEST_MARK);
            self.text.push_str(digest.to_hex().as_str());
        }
        let entity = self.text.len();
        if let Some(step) = step {
            for part in ["[", step, "]"] {
                self.text.push_str(part);
            }
        }
        let key = Key::new(&self.text, self.prefix, entity);
        BUFFER.set(self.text);
        Ok(key)
    }
}

/// Why a prefix or a namespace cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameError {
    Empty,
    Character(char),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty; write a name such as \"order:consume\""),
            Self::Character(char) => write!(f, "it holds {char:?}; use letters, digits and `_ . : / -`"),
        }
    }
}

/// Checks a prefix or a namespace against `[A-Za-z0-9_.:/-]+`.
pub(crate) fn check_name(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    match name.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '/' | '-'))) {
        Some(other) => Err(NameError::Character(other)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parts: &[&dyn KeyPart]) -> String {
        encode(None, "p", parts, None, None).expect("no part is missing").as_str().to_owned()
    }

    #[test]
    fn parts_never_run_into_each_other() {
        assert_ne!(text(&[&"a:b", &"c"]), text(&[&"a", &"b:c"]));
        assert_ne!(text(&[&"a%3Ab"]), text(&[&"a:b"]));
        assert_eq!(text(&[&"a:b", &"c"]), "p:a%3Ab:c");
        assert_eq!(text(&[&"{x}*?[]\n"]), "p:%7Bx%7D%2A%3F%5B%5D%0A");
        assert_eq!(text(&[&"\u{85}é"]), "p:%C2%85é", "only control characters are escaped beyond ASCII");
    }

    #[test]
    fn a_missing_part_is_named_by_its_position() {
        assert_eq!(encode(None, "p", &[&1, &""], None, None).unwrap_err(), 1);
        assert_eq!(encode(None, "p", &[&None::<u8>], None, None).unwrap_err(), 0);
        assert_eq!(encode(None, "p", &[], None, None).unwrap_err(), 0);
        assert!(encode(None, "p", &[&1, &"x"], None, None).is_ok(), "the control");
    }

    #[test]
    fn zero_and_false_are_parts_like_any_other() {
        assert_eq!(text(&[&0, &false]), "p:0:false");
    }

    #[test]
    fn large_numbers_stay_apart() {
        assert_ne!(text(&[&9_007_199_254_740_993_u64]), text(&[&9_007_199_254_740_992_u64]));
    }

    #[test]
    fn the_type_of_a_position_may_change() {
        assert_eq!(text(&[&17_u64]), text(&[&"17".to_owned()]));
    }

    #[test]
    fn long_parts_become_a_digest_that_no_part_can_spell() {
        let long = "x".repeat(199);
        let longer = "x".repeat(200);
        assert_eq!(text(&[&long]), format!("p:{long}"));
        assert!(text(&[&longer]).starts_with("p:%~"));
        assert_eq!(text(&[&longer]).len(), 4 + 64);
        assert_ne!(text(&[&longer]), text(&[&"y".repeat(200)]));
        assert!(text(&[&"%~"]).starts_with("p:%25~"));
    }

    #[test]
    fn the_namespace_stands_in_front_and_is_no_part_of_the_prefix() {
        let key = encode(Some("shop"), "order:consume", &[&1, &2], None, None).expect("no part is missing");
        assert_eq!(key.as_str(), "shop:order:consume:1:2");
        assert_eq!(key.prefix(), "order:consume");
    }

    #[test]
    fn a_part_may_build_a_key_itself() {
        struct Nested;
        impl KeyPart for Nested {
            fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
                let inner = encode(None, "inner", &[&1], None, None).map_err(|_| MissingPart)?;
                parts.push(inner.as_str())
            }
        }
        assert_eq!(text(&[&1, &Nested, &2]), "p:1:inner%3A1:2");
    }

    #[test]
    fn a_step_is_no_part_and_leaves_the_entity_alone() {
        let secret = Secret::new(b"a secret of sixteen");
        for (secret, parts) in [(None, [&1 as &dyn KeyPart]), (None, [&"x".repeat(300)]), (Some(&secret), [&1])] {
            let entity = encode(Some("shop"), "p", &parts, None, secret).expect("no part is missing");
            let step = encode(Some("shop"), "p", &parts, Some("init_token"), secret).expect("no part is missing");
            assert_eq!((entity.entity(), entity.step()), (entity.as_str(), None));
            assert_eq!((step.entity(), step.step(), step.prefix()), (entity.as_str(), Some("init_token"), "p"));
            assert_eq!(step.as_str(), format!("{entity}[init_token]"));
            assert_eq!(step, entity.with_step("init_token").expect("a name"));
            assert_eq!(step, step.with_step("other").and_then(|key| key.with_step("init_token")).expect("a name"));
            assert_eq!(step, Key::from_text(step.as_str()));
            assert_eq!(Key::from_text(step.as_str()).step(), Some("init_token"));
        }
        assert_ne!(text(&[&"1[init_token]"]), "p:1[init_token]", "no part spells a step");
    }

    #[test]
    fn steps_are_named_as_prefixes_are() {
        let key = encode(None, "p", &[&1], None, None).expect("no part is missing");
        for wrong in ["", "init token", "a]b", "a[b"] {
            assert!(key.with_step(wrong).is_err(), "{wrong}");
            let text = format!("p:1[{wrong}]");
            assert_ne!(Key::from_text(&text).step(), Some(wrong), "{text}");
        }
        assert!(key.with_step("init.token:2/3-x_Y").is_ok(), "the control");
    }

    #[test]
    fn names_are_checked() {
        assert_eq!(check_name("order:consume/v1.2_x-y"), Ok(()));
        assert_eq!(check_name(""), Err(NameError::Empty));
        assert_eq!(check_name("order{1}"), Err(NameError::Character('{')));
    }

    #[test]
    fn a_hidden_key_says_nothing_of_its_parts() {
        let (secret, other) = (Secret::new(b"a secret of sixteen"), Secret::new(b"another of sixteen"));
        let hidden = |prefix, part: &dyn KeyPart, secret| encode(None, prefix, &[part], None, Some(secret)).unwrap();
        let key = hidden("p", &"ada@example.org", &secret);
        assert!(key.as_str().starts_with("p:%~") && key.as_str().len() == 4 + 64, "{key}");
        assert_eq!(key.prefix(), "p");
        assert_eq!(key, hidden("p", &"ada@example.org", &secret), "the same each time");
        assert_ne!(key, hidden("p", &"bob@example.org", &secret));
        assert_ne!(key, hidden("p", &"ada@example.org", &other));
        let elsewhere = hidden("q", &"ada@example.org", &secret);
        assert_ne!(key.as_str()[4..], elsewhere.as_str()[4..], "nobody sees that it is the same person");
        assert_eq!(encode(None, "p", &[&""], None, Some(&secret)).unwrap_err(), 0, "a missing part is one here too");
    }
}
