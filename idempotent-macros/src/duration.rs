//! Durations as text: `24h`, `1h30m`, `"1h 30m"`.
//!
//! `1h30m` is one integer literal with the suffix `h30m` to Rust's lexer; its text is what is read here. Every slip that
//! people make has a message that shows the right spelling.

use std::fmt::Write as _;
use std::time::Duration;

/// Units from large to small, in milliseconds.
const UNITS: &[(&str, u64)] =
    &[("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// What a duration looks like, for messages.
pub(crate) const EXAMPLES: &str = "write a duration such as `30s`, `24h` or `1h30m`";

/// Reads a duration, or says what is wrong with it and what to write instead.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    if text.starts_with("0x") || text.starts_with("0o") || text.starts_with("0b") {
        return Err(format!("`{text}` is not decimal; {EXAMPLES}"));
    }
    if let Some(message) = fraction(text) {
        return Err(message);
    }
    let mut parts: Vec<(u64, usize)> = Vec::new();
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(format!("a duration cannot be empty; {EXAMPLES}"));
    }
    while !rest.is_empty() {
        let (part, after) = next_part(text, rest)?;
        parts.push(part);
        rest = after.trim_start();
    }
    in_order(text, &parts)?;
    total(&parts).map(Duration::from_millis).ok_or_else(|| format!("`{text}` is too long"))
}

/// Whether `u64` or the like stands behind a number.
pub(crate) fn is_rust_suffix(suffix: &str) -> bool {
    let digits = suffix.trim_start_matches(['u', 'i', 'f']);
    digits.len() + 1 == suffix.len() && matches!(digits, "8" | "16" | "32" | "64" | "128" | "size")
}

/// The function of `Duration` that says it best, and its argument.
pub(crate) fn in_largest_unit(duration: Duration) -> (&'static str, u128) {
    let milliseconds = duration.as_millis();
    [("from_hours", 3_600_000), ("from_mins", 60_000), ("from_secs", 1000)]
        .into_iter()
        .find(|&(_, length)| milliseconds.is_multiple_of(length))
        .map_or(("from_millis", milliseconds), |(function, length)| (function, milliseconds / length))
}

/// `86_400`: digits in groups of three.
pub(crate) fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('_');
        }
        grouped.push(digit);
    }
    grouped
}

/// The first number with its unit, as an index into [`UNITS`], and what follows.
fn next_part<'a>(text: &str, rest: &'a str) -> Result<((u64, usize), &'a str), String> {
    let digits_end = rest.find(|char: char| !(char.is_ascii_digit() || char == '_')).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(digits_end);
    let unit_end = after.find(|char: char| !char.is_alphabetic()).unwrap_or(after.len());
    let (unit, after) = after.split_at(unit_end);
    let digits = digits.trim_end_matches('_');
    if !digits.starts_with(|char: char| char.is_ascii_digit()) {
        return Err(format!("`{text}` is no duration; {EXAMPLES}"));
    }
    let number = digits.replace('_', "").parse::<u64>().map_err(|_| format!("`{text}` is too long"))?;
    let Some(at) = UNITS.iter().position(|&(name, _)| name == unit) else {
        return Err(wrong_unit(text, digits, unit, is_rust_suffix(&format!("{unit}{after}"))));
    };
    Ok(((number, at), after))
}

fn wrong_unit(text: &str, digits: &str, unit: &str, rust_suffix: bool) -> String {
    if unit.is_empty() || rust_suffix {
        if digits.len() == text.len() || rust_suffix {
            return format!(
                "`{text}` has no unit; write `{digits}s` for seconds, `{digits}m` for minutes or `{digits}h` for hours"
            );
        }
        return format!("the `{digits}` in `{text}` has no unit; write `{text}m`, for example");
    }
    let meant = match unit.to_lowercase().trim_end_matches('s') {
        "w" | "wk" | "week" => "w",
        "d" | "day" => "d",
        "h" | "hr" | "hour" => "h",
        "m" | "min" | "minute" => "m",
        "" | "sec" | "second" => "s",
        "milli" | "msec" | "millisec" | "millisecond" => "ms",
        "y" | "yr" | "year" | "mo" | "mon" | "month" => {
            return format!("`{unit}` has no fixed length; count in days, such as `365d`");
        }
        "u" | "micro" | "n" | "nano" | "µ" => {
            return format!("`{unit}` is finer than a store can keep; the smallest unit is `ms`");
        }
        _ => return format!("`{unit}` is no unit; the units are `w` `d` `h` `m` `s` `ms`"),
    };
    format!("`{unit}` is no unit; write `{digits}{meant}`")
}

/// `1.5h` and `1e3s`, which the lexer takes for floating point.
fn fraction(text: &str) -> Option<String> {
    let number_end = text.find(|char: char| !(char.is_ascii_digit() || "._".contains(char)))?;
    let (mut number, mut unit) = text.split_at(number_end);
    if let Some(exponent) = unit.strip_prefix(['e', 'E']) {
        let digits_end = exponent.find(|char: char| !char.is_ascii_digit()).unwrap_or(exponent.len());
        if digits_end > 0 {
            (number, unit) = text.split_at(number_end + 1 + digits_end);
        }
    }
    if !number.contains(['.', 'e', 'E']) {
        return None;
    }
    let instead = whole(number, unit).map_or_else(|| EXAMPLES.to_owned(), |whole| format!("write `{whole}`"));
    Some(format!("`{text}` is not made of whole numbers; {instead}"))
}

/// The same time in whole numbers, if there is one.
fn whole(number: &str, unit: &str) -> Option<String> {
    let &(_, length) = UNITS.iter().find(|&&(name, _)| name == unit)?;
    let number = number.replace('_', "").parse::<f64>().ok()?;
    #[allow(clippy::cast_precision_loss)] // a suggestion, shown only where it is exact
    let milliseconds = number * length as f64;
    if !(1.0..1e12).contains(&milliseconds) || milliseconds.fract() != 0.0 {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole and within bounds
    let milliseconds = milliseconds as u64;
    Some(match milliseconds % length {
        0 => format!("{}{unit}", milliseconds / length),
        _ => spelled(milliseconds),
    })
}

fn in_order(text: &str, parts: &[(u64, usize)]) -> Result<(), String> {
    if parts.is_sorted_by(|before, after| before.1 < after.1) {
        return Ok(());
    }
    let instead =
        total(parts).filter(|&total| total > 0).map_or(String::new(), |total| format!("; write `{}`", spelled(total)));
    Err(format!("the units of `{text}` do not go from large to small{instead}"))
}

fn total(parts: &[(u64, usize)]) -> Option<u64> {
    parts.iter().try_fold(0_u64, |sum, &(number, unit)| number.checked_mul(UNITS[unit].1)?.checked_add(sum))
}

/// `1h30m`: weeks aside, which people do not mix with other units.
fn spelled(mut milliseconds: u64) -> String {
    let mut text = String::new();
    for &(name, length) in &UNITS[1..] {
        if milliseconds >= length {
            let _ = write!(text, "{}{name}", milliseconds / length);
            milliseconds %= length;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> u64 {
        parse(text).unwrap_or_else(|message| panic!("{text}: {message}")).as_secs()
    }

    fn refused(text: &str) -> String {
        parse(text).expect_err(text)
    }

    #[test]
    fn reads_what_people_write() {
        assert_eq!(seconds("30s"), 30);
        assert_eq!(seconds("24h"), 86_400);
        assert_eq!(seconds("1h30m"), 5400);
        assert_eq!(seconds("1h 30m"), 5400);
        assert_eq!(seconds(" 2w "), 14 * 86_400);
        assert_eq!(seconds("1d12h"), 36 * 3600);
        assert_eq!(seconds("86_400s"), 86_400);
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("1s500ms"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse("0s"), Ok(Duration::ZERO));
    }

    #[test]
    fn shows_the_right_spelling() {
        for (text, message) in [
            ("3600", "`3600` has no unit; write `3600s` for seconds, `3600m` for minutes or `3600h` for hours"),
            ("30u64", "`30u64` has no unit; write `30s` for seconds, `30m` for minutes or `30h` for hours"),
            ("10min", "`min` is no unit; write `10m`"),
            ("5M", "`M` is no unit; write `5m`"),
            ("5H", "`H` is no unit; write `5h`"),
            ("3hours", "`hours` is no unit; write `3h`"),
            ("30secs", "`secs` is no unit; write `30s`"),
            ("5S", "`S` is no unit; write `5s`"),
            ("1year", "`year` has no fixed length; count in days, such as `365d`"),
            ("5us", "`us` is finer than a store can keep; the smallest unit is `ms`"),
            ("5x", "`x` is no unit; the units are `w` `d` `h` `m` `s` `ms`"),
            ("1.5h", "`1.5h` is not made of whole numbers; write `1h30m`"),
            ("1e3s", "`1e3s` is not made of whole numbers; write `1000s`"),
            ("0.5s", "`0.5s` is not made of whole numbers; write `500ms`"),
            ("30m1h", "the units of `30m1h` do not go from large to small; write `1h30m`"),
            ("1h1h", "the units of `1h1h` do not go from large to small; write `2h`"),
            ("1h30", "the `30` in `1h30` has no unit; write `1h30m`, for example"),
        ] {
            assert_eq!(refused(text), message);
        }
        for text in ["0x10h", "1.5", "1.5y", "", "  ", "soon", "-5s", "1m_s", "h", "1h-30m"] {
            assert!(refused(text).contains(EXAMPLES) || refused(text).contains("no unit"), "{text}: {}", refused(text));
        }
    }

    #[test]
    fn bounds_what_it_multiplies() {
        assert!(refused("99999999999999999999s").contains("too long"));
        assert!(refused("18446744073709551615w").contains("too long"));
    }

    #[test]
    fn groups_digits() {
        assert_eq!(grouped(30), "30");
        assert_eq!(grouped(300), "300");
        assert_eq!(grouped(86_400), "86_400");
        assert_eq!(grouped(1_000_000), "1_000_000");
    }
}
