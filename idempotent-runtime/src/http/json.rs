//! JSON bodies, compared as values; and where one value may have been written for two, not.
//!
//! What a reader of JSON makes of `0.1234567890123456789`, or of an object that names a member twice, is up to the reader:
//! the service behind the layer may see a difference that ours does not. Such a value is none that can be compared.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::fingerprint::Fingerprinted as _;

/// Appends a value's canonical form; `None` where it can mean several, or can be read by nobody.
pub(super) fn digest_into(value: &RawValue, canonical: &mut Vec<u8>) -> Option<()> {
    let text = value.get();
    let read: Value = serde_json::from_str(text).ok()?;
    let _: Plain = serde_json::from_str(text).ok()?;
    if !numbers(text).all(is_told_apart) {
        return None;
    }
    read.digest_into(canonical).ok()
}

/// The value that a JSON Pointer leads to, if there is one; `Err` where a member on its way stands twice.
pub(super) fn at<'a>(value: &'a RawValue, pointer: &str) -> Result<Option<&'a RawValue>, serde_json::Error> {
    let mut value = value;
    for name in pointer.split('/').skip(1) {
        let name = name.replace("~1", "/").replace("~0", "~");
        let inner = match value.get().as_bytes().first() {
            Some(b'{') => Member(&name).deserialize(&mut serde_json::Deserializer::from_str(value.get()))?,
            Some(b'[') => match index(&name) {
                Some(at) => serde_json::from_str::<Vec<&RawValue>>(value.get())?.get(at).copied(),
                None => None,
            },
            _ => None,
        };
        let Some(inner) = inner else { return Ok(None) };
        value = inner;
    }
    Ok(Some(value))
}

/// The index of an element: decimal digits without zeros in front.
fn index(name: &str) -> Option<usize> {
    let written = name.parse().ok()?;
    (name == format!("{written}")).then_some(written)
}

/// The numbers in a valid JSON text, as they are written.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(|char: char| matches!(char, '"' | '-') || char.is_ascii_digit())?;
            let (string, after) = (rest[at..].starts_with('"'), &rest[at..]);
            let length = if string { length_of_string(after) } else { length_of_number(after) };
            let (token, next) = after.split_at(length);
            rest = next;
            if !string {
                return Some(token);
            }
        }
    })
}

fn length_of_number(text: &str) -> usize {
    text.find(|char: char| !(char.is_ascii_digit() || matches!(char, '-' | '+' | '.' | 'e' | 'E')))
        .unwrap_or(text.len())
}

/// With its quotes.
fn length_of_string(text: &str) -> usize {
    let mut escaped = true; // the first quote begins it
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 1)
}

/// Whether no other number is read as the same one: integers of 64 bits are exact, and decimals of up to fifteen digits are
/// told apart wherever floating point has its full precision.
fn is_told_apart(number: &str) -> bool {
    if number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return true;
    }
    let significand = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = significand.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_matches('0');
    digits.is_empty() || digits.len() <= 15 && number.parse::<f64>().is_ok_and(f64::is_normal)
}

/// A value in which no object names a member twice.
struct Plain;

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Plain {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value in which no member stands twice")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self, A::Error> {
        while elements.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        let mut names = HashSet::new();
        while let Some((name, _)) = members.next_entry::<String, Self>()? {
            if !names.insert(name) {
                return Err(A::Error::custom("a member stands twice"));
            }
        }
        Ok(self)
    }
}

/// One member of an object, by its name.
struct Member<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = members.next_key::<String>()? {
            if name != self.0 {
                members.next_value::<IgnoredAny>()?;
            } else if found.replace(members.next_value()?).is_some() {
                return Err(A::Error::custom("the member stands twice"));
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_as_they_are_written() {
        let text = r#"{"a1":-1.5e-3,"2":["3\"4",{"5":6}],"\\":7E+2,"":0}"#;
        assert_eq!(numbers(text).collect::<Vec<_>>(), ["-1.5e-3", "6", "7E+2", "0"]);
    }

    #[test]
    fn a_number_that_could_be_another_is_known() {
        let apart = [
            "0",
            "-0",
            "12",
            "18446744073709551615",
            "-9223372036854775808",
            "1.5",
            "0.000",
            "1e20",
            "0.1234567890120",
        ];
        for number in apart.into_iter().chain(["123456789012345000000000000000", "-1.00000000000000e-300"]) {
            assert!(is_told_apart(number), "{number}");
        }
        for number in ["18446744073709551616", "0.1234567890123456", "1e-400", "4.9e-324", "9007199254740993.0"] {
            assert!(!is_told_apart(number), "{number}");
        }
    }

    #[test]
    fn pointers_lead_where_rfc_6901_says() {
        let text = r#"{"a":[1,{"b/c":2}],"":{"~":3},"d":{"x":4,"x":5},"e":null}"#;
        let body: &RawValue = serde_json::from_str(text).unwrap();
        let value: Value = serde_json::from_str(text).unwrap();
        let all = ["", "/a/0", "/a/1/b~1c", "//~0", "/e", "/a/2", "/a/00", "/a/-", "/a/+1", "/none", "/e/x", "/a/1/x"];
        for pointer in all {
            let found = at(body, pointer).unwrap().map(|value| serde_json::from_str(value.get()).unwrap());
            assert_eq!(found.as_ref(), value.pointer(pointer), "{pointer}");
        }
        assert!(at(body, "/d/x").is_err(), "which of the two?");
        assert!(at(body, "/d").unwrap().is_some_and(|value| digest_into(value, &mut Vec::new()).is_none()));
    }
}
