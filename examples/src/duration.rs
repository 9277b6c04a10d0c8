//! Durations on a command line.

use std::time::Duration;

/// Reads `50ms`, `2s`, `10m`.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(examples::duration::parse("50ms"), Ok(Duration::from_millis(50)));
/// assert!(examples::duration::parse("50").is_err(), "50 of what?");
/// ```
///
/// # Errors
///
/// What to write instead.
pub fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let wrong = || format!("`{text}` is not a duration; write `50ms`, `2s` or `10m`");
    let number: u32 = number.parse().map_err(|_| wrong())?;
    let unit = match unit {
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" => Duration::from_mins(1),
        _ => return Err(wrong()),
    };
    Ok(unit * number)
}
