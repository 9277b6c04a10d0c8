//! Times as people write and read them: `1h 30m`, `250ms`.

use std::time::Duration;

const UNITS: [(&str, u64); 6] =
    [("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Reads `1h 30m`, `90m`, `250ms`.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time; write `30s`, `24h` or `1h 30m` (units: w d h m s ms)");
    let mut rest = text.trim();
    let mut millis: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|char: char| !char.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        millis = number.checked_mul(*unit).and_then(|more| millis.checked_add(more)).ok_or_else(wrong)?;
        rest = after.trim_start();
    }
    if text.trim().is_empty() { Err(wrong()) } else { Ok(Duration::from_millis(millis)) }
}

/// Writes a time in its two largest units.
pub(crate) fn text(time: Duration) -> String {
    let mut millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let mut parts = Vec::new();
    for (name, unit) in UNITS.into_iter().skip(1) {
        let number = millis / unit;
        millis %= unit;
        // Below a minute people do not count milliseconds.
        if number > 0 && (name != "ms" || parts.is_empty()) {
            parts.push(format!("{number}{name}"));
        } else if !parts.is_empty() {
            break;
        }
        if parts.len() == 2 {
            break;
        }
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_the_attribute_reads_them() {
        for (given, seconds) in
            [("30s", 30), ("24h", 86_400), ("1h 30m", 5400), ("1h30m", 5400), ("2d", 172_800), ("1w", 604_800)]
        {
            assert_eq!(parse(given), Ok(Duration::from_secs(seconds)), "{given}");
        }
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", " ", "30", "h", "1y", "-1s", "1.5h", "99999999999999999999s", "1h x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_written_in_two_units() {
        for (millis, expected) in [
            (0, "0s"),
            (250, "250ms"),
            (1250, "1s"),
            (5_400_000, "1h 30m"),
            (90_061_000, "1d 1h"),
            (3_600_001, "1h"),
            (3_605_000, "1h"),
        ] {
            assert_eq!(text(Duration::from_millis(millis)), expected);
        }
    }
}
