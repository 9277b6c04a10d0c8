//! What can stand in a key: values with a stable text.

use std::borrow::Cow;
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
    note = "use an id (integer, text, `Uuid`, …), or implement `KeyPart` for a type of your own"
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

/// `None` is a missing part: the call is refused.
impl<T: KeyPart> KeyPart for Option<T> {
    fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
        self.as_ref().ok_or(MissingPart)?.encode(parts)
    }
}
