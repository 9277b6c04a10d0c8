//! What can stand in a key: values with a stable text.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;

use super::{KeyParts, MissingPart};

/// A value that can be part of an idempotency key.
///
/// Its text must be the same for equal values, in every version of your program and on every machine: a record
/// written today must be found next week. That is why `f64` (`0.1 + 0.2`) and `HashMap` (no order) are no key parts.
/// A number and its decimal text are the same part, so a field may change from `u64` to `String`.
///
/// | type | its text |
/// |---|---|
/// | integers, `bool`, `char`, text, addresses | as `Display` writes it |
/// | `[u8; N]`, `[u8]`, `Vec<u8>` | hexadecimal |
/// | references, `Box`, `Rc`, `Arc`, `Cow` | that of what they hold |
/// | tuples | one part for each element |
/// | `Option` | that of what it holds; `None` is a missing part, and the call is refused |
/// | `Uuid` (feature `uuid`) | in lower case, with hyphens |
/// | `OffsetDateTime`, `UtcDateTime` (`time`), `DateTime` (`chrono`), `Timestamp`, `ZonedDateTime` (`jiff`) | RFC 3339 in UTC, `2026-08-27T10:00:00.5Z`: the same for the same instant |
/// | `Date` (`time`), `NaiveDate` (`chrono`), `civil::Date` (`jiff`) | `2026-08-27` |
/// | `Decimal` (feature `rust_decimal`) | without trailing zeros |
/// | your own | derive [`KeyPart`](derive@crate::KeyPart), or write it as below |
///
/// ```
/// use idempotent_runtime::{KeyPart, KeyParts, MissingPart};
///
/// struct OrderId(u64);
///
/// impl KeyPart for OrderId {
///     fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
///         self.0.encode(parts)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of an idempotency key",
    label = "no stable text form",
    note = "use an id (integer, text, bytes, …), or an `Option` of one; for a type of your own derive `KeyPart`, for one of `uuid`, `time`, `chrono`, `jiff` or `rust_decimal` switch on the feature of that name"
)]
pub trait KeyPart {
    /// Writes the value, as one part or several.
    ///
    /// # Errors
    ///
    /// [`MissingPart`] when there is nothing to write: `None`, an empty text. The call is then refused before
    /// anything runs.
    fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart>;
}

macro_rules! by_display {
    ($($type:ty),* $(,)?) => {$(
        #[diagnostic::do_not_recommend]
        impl KeyPart for $type {
            fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
                parts.push_display(&self)
            }
        }
    )*};
}

by_display!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, bool, char, str, String);
by_display!(IpAddr, Ipv4Addr, Ipv6Addr);
by_display!(NonZero<u8>, NonZero<u16>, NonZero<u32>, NonZero<u64>, NonZero<u128>, NonZero<usize>);
by_display!(NonZero<i8>, NonZero<i16>, NonZero<i32>, NonZero<i64>, NonZero<i128>, NonZero<isize>);

macro_rules! by_what_it_holds {
    ($($type:ty),* $(,)?) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: KeyPart + ?Sized> KeyPart for $type {
            fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
                (**self).encode(parts)
            }
        }
    )*};
}

by_what_it_holds!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);

#[diagnostic::do_not_recommend]
impl<T: KeyPart + ToOwned + ?Sized> KeyPart for Cow<'_, T> {
    fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
        (**self).encode(parts)
    }
}

macro_rules! bytes {
    ($($type:ty $(, $length:ident)?;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl$(<const $length: usize>)? KeyPart for $type {
            fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
                parts.push_display(&Hexadecimal(self))
            }
        }
    )*};
}

bytes! {
    [u8; N], N;
    [u8];
    Vec<u8>;
}

/// Bytes as people write digests and object ids: two lower-case digits each.
struct Hexadecimal<'a>(&'a [u8]);

impl fmt::Display for Hexadecimal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

macro_rules! tuples {
    ($($($part:ident)+;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($part: KeyPart),+> KeyPart for ($($part,)+) {
            #[expect(non_snake_case, reason = "a part is named as its type parameter")]
            fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
                let ($($part,)+) = self;
                $($part.encode(parts)?;)+
                Ok(())
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

/// `None` is a missing part: the call is refused.
#[diagnostic::do_not_recommend]
impl<T: KeyPart> KeyPart for Option<T> {
    fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
        self.as_ref().ok_or(MissingPart)?.encode(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::encode;

    fn text(part: &dyn KeyPart) -> String {
        encode(None, "p", &[part], None).expect("no part is missing").as_str().to_owned()
    }

    #[test]
    fn numbers_text_and_addresses_are_written_as_people_write_them() {
        let texts: [(&dyn KeyPart, &str); 22] = [
            (&u8::MAX, "255"),
            (&u16::MAX, "65535"),
            (&u32::MAX, "4294967295"),
            (&u64::MAX, "18446744073709551615"),
            (&u128::MAX, "340282366920938463463374607431768211455"),
            (&7_usize, "7"),
            (&i8::MIN, "-128"),
            (&i16::MIN, "-32768"),
            (&i32::MIN, "-2147483648"),
            (&i64::MIN, "-9223372036854775808"),
            (&i128::MIN, "-170141183460469231731687303715884105728"),
            (&-7_isize, "-7"),
            (&true, "true"),
            (&'é', "é"),
            (&"o-7", "o-7"),
            (&"o-7".to_owned(), "o-7"),
            (&NonZero::<u64>::MIN, "1"),
            (&NonZero::<i128>::MIN, "-170141183460469231731687303715884105728"),
            (&Ipv4Addr::LOCALHOST, "127.0.0.1"),
            (&IpAddr::from([127, 0, 0, 1]), "127.0.0.1"),
            (&Ipv6Addr::LOCALHOST, "%3A%3A1"),
            (&IpAddr::from(Ipv6Addr::LOCALHOST), "%3A%3A1"),
        ];
        for (part, expected) in texts {
            assert_eq!(text(part), format!("p:{expected}"));
        }
    }

    #[test]
    fn what_holds_a_part_is_that_part() {
        let part = || "o-7".to_owned();
        let holders: [&dyn KeyPart; 8] = [
            &&part(),
            &&mut part(),
            &Box::<str>::from(part()),
            &Rc::<str>::from(part()),
            &Arc::new(part()),
            &Cow::Borrowed("o-7"),
            &Cow::<str>::Owned(part()),
            &Some(Box::new(Some(part()))),
        ];
        for holder in holders {
            assert_eq!(text(holder), "p:o-7");
        }
    }

    #[test]
    fn the_type_of_a_part_may_change() {
        assert_eq!(text(&1001_u64), text(&"1001".to_owned()));
        assert_eq!(text(&1001_u64), text(&NonZero::new(1001_i32)));
        assert_eq!(text(&(1001_u64, "a")), encode(None, "p", &[&"1001", &'a'], None).expect("there are two").as_str());
    }

    #[test]
    fn what_is_missing_or_empty_is_refused() {
        let missing: [&dyn KeyPart; 4] = [&None::<u64>, &Some(None::<u64>), &"", &Some(String::new())];
        for part in missing {
            assert_eq!(encode(None, "p", &[&7, part], None).unwrap_err(), 1, "the second part");
        }
    }

    #[test]
    fn bytes_are_hexadecimal() {
        assert_eq!(text(&[0x00_u8, 0x1f, 0xff]), "p:001fff");
        assert_eq!(text(&vec![0x1f_u8]), "p:1f");
        assert_eq!(text(&&[0x1f_u8][..]), "p:1f");
        assert_eq!(encode(None, "p", &[&[0_u8; 0]], None).unwrap_err(), 0, "no bytes are a missing part");
    }

    #[test]
    fn tuples_are_their_parts() {
        assert_eq!(text(&(7, "a:b")), "p:7:a%3Ab");
        assert_eq!(text(&(1, 2, 3, 4, 5, 6, 7, 8)), "p:1:2:3:4:5:6:7:8");
        assert_eq!(encode(None, "p", &[&(7, None::<u8>)], None).unwrap_err(), 0);
    }
}
