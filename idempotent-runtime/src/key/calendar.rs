//! How days and instants are written in a key.
//!
//! An instant has one text, whatever crate and time zone it comes in: two values that are equal must give one key, and
//! a program may change from one crate to another.

use std::fmt;

/// A day, as `2026-08-27`.
pub(super) struct CivilDate {
    pub(super) year: i32,
    pub(super) month: u32,
    pub(super) day: u32,
}

/// An instant in UTC, as `2026-08-27T10:00:00.5Z`.
pub(super) struct Instant {
    pub(super) day: CivilDate,
    pub(super) hour: u32,
    pub(super) minute: u32,
    pub(super) second: u32,
    pub(super) nanosecond: u32,
}

impl fmt::Display for CivilDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day } = self;
        match year {
            0..=9999 => write!(f, "{year:04}-{month:02}-{day:02}"),
            _ => write!(f, "{year:+07}-{month:02}-{day:02}"),
        }
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { day, hour, minute, second, nanosecond } = self;
        write!(f, "{day}T{hour:02}:{minute:02}:{second:02}")?;
        if *nanosecond > 0 {
            let digits = format!("{nanosecond:09}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}
