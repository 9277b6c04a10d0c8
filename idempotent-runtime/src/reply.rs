//! What the attribute asks of a handler's return type: the one place where its bounds are checked.
//!
//! Expanded code calls [`value`], [`skipped`] or [`unrecorded`], and a constructor of [`Errors`], at the spans of the
//! user's own types. Each of these functions checks its bounds once, so that a type that does not fit is reported once
//! and under the right word, and hands over function pointers in a struct without bounds. Everything after that, the
//! call and the guard, is free of bounds.

mod errors;
mod value;

use erased_serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use self::errors::{ErrorOps, Judgement};
pub use self::errors::{Errors, judge, map_err, recorded};
#[cfg(feature = "http")]
pub(crate) use self::value::{Plain, in_part};
pub use self::value::{ValueOps, skipped, unrecorded, value};
use crate::Error;
use crate::read::Reader;

/// A return type of two sides: a value or an error. Every `Result<T, E>` is one, under whatever alias.
#[diagnostic::on_unimplemented(
    message = "an idempotent function must return a `Result`, not `{Self}`",
    label = "not a `Result`",
    note = "an error is how a duplicate learns that it is one; write `Result<{Self}, YourError>`"
)]
pub trait Reply: Sized {
    /// `T` of `Result<T, E>`.
    type Value;
    /// `E` of `Result<T, E>`.
    type Error;

    /// The two sides by reference.
    fn as_result(&self) -> Result<&Self::Value, &Self::Error>;
    /// `Ok(value)`.
    fn from_value(value: Self::Value) -> Self;
    /// `Err(error)`.
    fn from_error(error: Self::Error) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T, E> Reply for Result<T, E> {
    type Value = T;
    type Error = E;

    fn as_result(&self) -> Result<&T, &E> {
        self.as_ref()
    }

    fn from_value(value: T) -> Self {
        Ok(value)
    }

    fn from_error(error: E) -> Self {
        Err(error)
    }
}

/// A value that can be recorded and given to duplicates: `Serialize + DeserializeOwned`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be recorded, so a duplicate cannot be given it",
    label = "cannot be recorded",
    note = "derive `serde::Serialize` and `serde::Deserialize` for it (bound a type parameter by `Serialize + DeserializeOwned`), or choose `on_duplicate = skip` or `on_duplicate = reject`"
)]
pub trait Stored: serde::Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: serde::Serialize + DeserializeOwned> Stored for T {}

/// An error that can be recorded and given to duplicates: `Serialize + DeserializeOwned`.
#[diagnostic::on_unimplemented(
    message = "`on_error = record` gives duplicates the error, and `{Self}` cannot be recorded",
    label = "cannot be recorded",
    note = "derive `serde::Serialize` and `serde::Deserialize` for it (bound a type parameter by `Serialize + DeserializeOwned`), or choose `on_error = release`, or name a function that judges: `on_error = my_function`"
)]
pub trait StoredError: serde::Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<E: serde::Serialize + DeserializeOwned> StoredError for E {}

/// A value that `on_duplicate = skip` can give to a duplicate: `Default`.
#[diagnostic::on_unimplemented(
    message = "`on_duplicate = skip` gives duplicates a default value, and `{Self}` has none",
    label = "no default value",
    note = "implement `Default` for it, or choose `on_duplicate = replay` or `on_duplicate = reject`"
)]
pub trait Skippable: Default {}

#[diagnostic::do_not_recommend]
impl<T: Default> Skippable for T {}

/// An error that can carry what the runtime has to say: `From<idempotent_runtime::Error>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `From<idempotent_runtime::Error>`",
    label = "cannot carry the runtime's own errors",
    note = "implement `From<idempotent_runtime::Error>` for it, or name a function that converts: `map_err = my_function`"
)]
pub trait CarriesError: From<Error> {}

#[diagnostic::do_not_recommend]
impl<E: From<Error>> CarriesError for E {}

/// One side of a reply, written to a record and read back.
pub(crate) struct Recorded<R> {
    pub(super) encode: for<'a> fn(&'a R) -> Option<&'a dyn Serialize>,
    pub(super) decode: fn(Reader<'_, '_>) -> Result<R, erased_serde::Error>,
}

impl<R> Clone for Recorded<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Recorded<R> {}

/// Never called: `if false { return never::<R>(); }` gives the guarded block its type, so that `?` and `return` convert
/// in it as in the plain function.
pub fn never<R>() -> R {
    unreachable!("only ever named behind `if false`")
}
