//! Key parts of other crates' types, each behind the feature of its crate's name.

use super::{KeyPart, KeyParts, MissingPart};

#[cfg(feature = "uuid")]
#[diagnostic::do_not_recommend]
impl KeyPart for uuid::Uuid {
    fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
        parts.push_display(&self.hyphenated())
    }
}

#[cfg(feature = "rust_decimal")]
#[diagnostic::do_not_recommend]
impl KeyPart for rust_decimal::Decimal {
    fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
        // `1.0` and `1.00` are equal.
        parts.push_display(&self.normalize())
    }
}

#[cfg(feature = "time")]
mod by_time {
    use time::{Date, OffsetDateTime, UtcDateTime};

    use super::super::calendar::{CivilDate, Instant};
    use super::{KeyPart, KeyParts, MissingPart};

    fn day(date: Date) -> CivilDate {
        CivilDate { year: date.year(), month: u32::from(u8::from(date.month())), day: date.day().into() }
    }

    #[diagnostic::do_not_recommend]
    impl KeyPart for Date {
        fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
            parts.push_display(&day(*self))
        }
    }

    #[diagnostic::do_not_recommend]
    impl KeyPart for UtcDateTime {
        fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
            parts.push_display(&Instant {
                day: day(self.date()),
                hour: self.hour().into(),
                minute: self.minute().into(),
                second: self.second().into(),
                nanosecond: self.nanosecond(),
            })
        }
    }

    #[diagnostic::do_not_recommend]
    impl KeyPart for OffsetDateTime {
        fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
            // Only in the first and the last hours of the calendar there is no such instant in UTC.
            self.checked_to_utc().ok_or(MissingPart)?.encode(parts)
        }
    }
}

#[cfg(feature = "chrono")]
mod by_chrono {
    use chrono::{DateTime, Datelike, NaiveDate, TimeZone, Timelike};

    use super::super::calendar::{CivilDate, Instant};
    use super::{KeyPart, KeyParts, MissingPart};

    fn day(date: NaiveDate) -> CivilDate {
        CivilDate { year: date.year(), month: date.month(), day: date.day() }
    }

    #[diagnostic::do_not_recommend]
    impl KeyPart for NaiveDate {
        fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
            parts.push_display(&day(*self))
        }
    }

    #[diagnostic::do_not_recommend]
    impl<Z: TimeZone> KeyPart for DateTime<Z> {
        fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
            let utc = self.naive_utc();
            // A leap second is told as one that lasts for two.
            let leap = utc.nanosecond() / 1_000_000_000;
            parts.push_display(&Instant {
                day: day(utc.date()),
                hour: utc.hour(),
                minute: utc.minute(),
                second: utc.second() + leap,
                nanosecond: utc.nanosecond() % 1_000_000_000,
            })
        }
    }
}

#[cfg(feature = "jiff")]
mod by_jiff {
    use jiff::civil::Date;
    use jiff::tz::TimeZone;
    use jiff::{Timestamp, ZonedDateTime};

    use super::super::calendar::{CivilDate, Instant};
    use super::{KeyPart, KeyParts, MissingPart};

    fn day(date: Date) -> CivilDate {
        CivilDate {
            year: date.year().into(),
            month: date.month().unsigned_abs().into(),
            day: date.day().unsigned_abs().into(),
        }
    }

    #[diagnostic::do_not_recommend]
    impl KeyPart for Date {
        fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
            parts.push_display(&day(*self))
        }
    }

    #[diagnostic::do_not_recommend]
    impl KeyPart for Timestamp {
        fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
            let utc = TimeZone::UTC.to_datetime(*self);
            parts.push_display(&Instant {
                day: day(utc.date()),
                hour: utc.hour().unsigned_abs().into(),
                minute: utc.minute().unsigned_abs().into(),
                second: utc.second().unsigned_abs().into(),
                nanosecond: utc.subsec_nanosecond().unsigned_abs(),
            })
        }
    }

    #[diagnostic::do_not_recommend]
    impl KeyPart for ZonedDateTime {
        fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
            self.timestamp().encode(parts)
        }
    }
}

#[cfg(all(test, feature = "time", feature = "chrono", feature = "jiff", feature = "uuid", feature = "rust_decimal"))]
mod tests {
    use super::*;

    /// What a part is written as, before it is escaped.
    fn text(part: &dyn KeyPart) -> String {
        let key = crate::key::encode(None, "p", &[part], None, None).expect("no part is missing");
        key.as_str()[2..].replace("%3A", ":")
    }

    #[test]
    fn one_instant_has_one_text_in_every_crate_and_zone() {
        for (seconds, nanoseconds, expected) in [
            (1_787_824_800, 0, "2026-08-27T10:00:00Z"),
            (1_787_824_800, 500_000_000, "2026-08-27T10:00:00.5Z"),
            (1_787_824_800, 1, "2026-08-27T10:00:00.000000001Z"),
            (-1, 0, "1969-12-31T23:59:59Z"),
        ] {
            let by_jiff = jiff::Timestamp::new(seconds, nanoseconds).unwrap();
            let east = jiff::tz::TimeZone::fixed(jiff::tz::offset(9));
            assert_eq!(text(&by_jiff), expected);
            assert_eq!(text(&by_jiff.to_zoned_datetime(east)), expected);

            let nanoseconds = u32::try_from(nanoseconds).unwrap();
            let by_chrono = chrono::DateTime::from_timestamp(seconds, nanoseconds).unwrap();
            let east = chrono::FixedOffset::east_opt(9 * 3600).unwrap();
            assert_eq!(text(&by_chrono), expected);
            assert_eq!(text(&by_chrono.with_timezone(&east)), expected);

            let by_time = time::OffsetDateTime::from_unix_timestamp(seconds).unwrap();
            let by_time = by_time.replace_nanosecond(nanoseconds).unwrap();
            let east = time::UtcOffset::from_hms(9, 0, 0).unwrap();
            assert_eq!(text(&by_time), expected);
            assert_eq!(text(&by_time.to_offset(east)), expected);
        }
    }

    #[test]
    fn a_leap_second_is_the_sixtieth() {
        let leap = chrono::NaiveDate::from_ymd_opt(2016, 12, 31).unwrap().and_hms_nano_opt(23, 59, 59, 1_500_000_000);
        assert_eq!(text(&leap.unwrap().and_utc()), "2016-12-31T23:59:60.5Z");
    }

    #[test]
    fn one_day_has_one_text_in_every_crate() {
        assert_eq!(text(&jiff::civil::date(2026, 8, 27)), "2026-08-27");
        assert_eq!(text(&chrono::NaiveDate::from_ymd_opt(2026, 8, 27).unwrap()), "2026-08-27");
        assert_eq!(text(&time::Date::from_calendar_date(2026, time::Month::August, 27).unwrap()), "2026-08-27");
        assert_eq!(text(&jiff::civil::date(-44, 3, 15)), "-000044-03-15");
    }

    #[test]
    fn equal_numbers_have_one_text() {
        use rust_decimal::Decimal;

        assert_eq!(text(&Decimal::new(100, 2)), "1");
        assert_eq!(text(&Decimal::new(1, 0)), "1");
        assert_eq!(text(&Decimal::new(-5, 1)), "-0.5");
        assert_eq!(text(&-Decimal::new(0, 1)), "0");
    }

    #[test]
    fn a_uuid_is_written_as_people_know_it() {
        let uuid = uuid::Uuid::from_u128(0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8);
        assert_eq!(text(&uuid), "67e55044-10b1-426f-9247-bb680e5fe0c8");
    }
}
