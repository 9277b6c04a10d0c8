//! What a key's field may hold, as a regular expression for a client's or a gateway's schema.
//!
//! A schema describes the field as it is sent, quotes and all: a pattern of the key itself would have clients send keys that
//! are refused, and gateways refuse those that are not.

use super::key::{KeyRules, Syntax, is_bare};

/// The pattern of a field's value (ECMA-262, as JSON Schema has it). Lengths are those of the key: what is escaped counts
/// once.
pub(super) fn of(rules: &KeyRules) -> String {
    let KeyRules { syntax, shortest, longest, characters } = rules;
    let allowed = |byte: u8| characters.contains(byte);
    let times = format!("{{{shortest},{longest}}}");
    let escaped = class(|byte| allowed(byte) && is_escaped(byte)).map(|class| format!(r"\\{class}"));
    let units: Vec<_> = class(|byte| allowed(byte) && !is_escaped(byte)).into_iter().chain(escaped).collect();
    // Parameters are allowed, and mean nothing.
    let quoted = format!(r#""(?:{}){times}"(?:;.*)?"#, units.join("|"));
    match (syntax, class(|byte| allowed(byte) && is_bare(byte))) {
        (Syntax::Lenient, Some(bare)) => format!("^(?:{quoted}|{bare}{times})$"),
        _ => format!("^{quoted}$"),
    }
}

/// Whether a Structured Field String writes the character with a backslash in front.
const fn is_escaped(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\')
}

/// A class of these characters, as ranges; `None` where there is none of them.
fn class(holds: impl Fn(u8) -> bool) -> Option<String> {
    let mut ranges = String::new();
    let mut next = 0x20;
    while let Some(first) = (next..0x7f).find(|byte| holds(*byte)) {
        let last = (first..0x7f).take_while(|byte| holds(*byte)).last().unwrap_or(first);
        push(&mut ranges, first);
        if last > first + 1 {
            ranges.push('-');
        }
        if last > first {
            push(&mut ranges, last);
        }
        next = last + 1;
    }
    (!ranges.is_empty()).then(|| format!("[{ranges}]"))
}

fn push(ranges: &mut String, byte: u8) {
    if matches!(byte, b'\\' | b'[' | b']' | b'^' | b'-') {
        ranges.push('\\');
    }
    ranges.push(char::from(byte));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::key::Characters;

    #[test]
    fn the_pattern_is_that_of_the_field() {
        let of_class = |class, syntax| {
            let characters = Characters::of_class(class).unwrap();
            of(&KeyRules { syntax, shortest: 4, longest: 8, characters })
        };
        assert_eq!(of_class("A-Za-z0-9-", Syntax::Strict), r#"^"(?:[\-0-9A-Za-z]){4,8}"(?:;.*)?$"#);
        assert_eq!(of_class("ab", Syntax::Lenient), r#"^(?:"(?:[ab]){4,8}"(?:;.*)?|[ab]{4,8})$"#);
        assert_eq!(of_class("\"", Syntax::Lenient), r#"^"(?:\\["]){4,8}"(?:;.*)?$"#);
        let all = KeyRules::default();
        let expected = r#"^(?:"(?:[ !#-\[\]-~]|\\["\\]){1,255}"(?:;.*)?|[!#-+\--:<-\[\]-~]{1,255})$"#;
        assert_eq!(of(&all), expected);
    }
}
