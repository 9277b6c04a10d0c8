//! The side of a reply that is an error: how the runtime's errors come into it, and how the handler's own are settled.

use std::fmt::{self, Display, Write as _};
use std::ops::Deref;

use erased_serde::Serialize;
use serde::Deserialize as _;

use super::{CarriesError, Recorded, Reply, StoredError};
use crate::Error;
use crate::policy::OnError;
use crate::read::Reader;

/// How a handler's errors are made and settled, as the attribute says. Expanded code builds one.
///
/// ```text
/// Errors::<R>::by_from()                                 E: From<Error>
/// Errors::<R>::by(|error| map_err(error, path))          map_err = path
///     .with_text()                                       if E: Display
///     .judged(|reply| judge(reply, path))                on_error = path
/// recorded(…)                                            on_error = record
/// ```
pub struct Errors<R>(ErrorOps<R>);

impl<R> Errors<R> {
    /// The handler's error type converts the runtime's errors with `From`.
    #[must_use]
    pub fn by_from() -> Self
    where
        R: Reply,
        R::Error: CarriesError,
    {
        Self::by(from_error::<R>)
    }

    /// `map_err = path`: expanded code gives `|error| map_err(error, path)`.
    #[must_use]
    pub fn by(from: fn(Error) -> R) -> Self {
        Self(ErrorOps { from, text: None, settled: Settled::Released })
    }

    /// `on_error = path`: each error is judged. Expanded code gives `|reply| judge(reply, path)`.
    #[must_use]
    pub fn judged(self, judge: fn(&R) -> OnError) -> Self {
        Self(ErrorOps { settled: Settled::Judged(judge), ..self.0 })
    }

    pub(crate) fn into_ops(self) -> ErrorOps<R> {
        self.0
    }
}

/// `on_error = record`: errors are recorded as results are.
#[must_use]
pub fn recorded<R: Reply>(errors: Errors<R>) -> Errors<R>
where
    R::Error: StoredError,
{
    let recorded = Recorded::<R> { encode: encode::<R>, decode: decode::<R> };
    Errors(ErrorOps { settled: Settled::Recorded(recorded), ..errors.0 })
}

// Functions with names: a closure, or a method of `Result` with one, is compiled for every handler's types once more.

fn from_error<R: Reply>(error: Error) -> R
where
    R::Error: CarriesError,
{
    R::from_error(R::Error::from(error))
}

fn encode<R: Reply>(reply: &R) -> Option<&dyn Serialize>
where
    R::Error: StoredError,
{
    match reply.as_result() {
        Ok(_) => None,
        Err(error) => Some(error),
    }
}

fn decode<R: Reply>(from: Reader<'_, '_>) -> Result<R, erased_serde::Error>
where
    R::Error: StoredError,
{
    match R::Error::deserialize(from) {
        Ok(error) => Ok(R::from_error(error)),
        Err(unreadable) => Err(unreadable),
    }
}

/// The error of a handler with `map_err = map`. A function of its own, so that a `map` of another signature is reported
/// as two function types under the user's path.
pub fn map_err<T, E>(error: Error, map: fn(Error) -> E) -> Result<T, E> {
    Err(map(error))
}

/// The judgement of a handler with `on_error = judge`. A function of its own, as [`map_err`] is.
pub fn judge<T, E>(reply: &Result<T, E>, judge: fn(&E) -> OnError) -> OnError {
    match reply {
        Ok(_) => OnError::Release,
        Err(error) => judge(error),
    }
}

// A released record shows people the last error, where that can be shown; handlers whose errors have no `Display` are
// not asked for one. Which of the two `with_text` is called is decided where the error's type is known, in expanded
// code: a method of `Errors` comes before a method of what it dereferences to, if its bounds hold.

impl<T, E: Display> Errors<Result<T, E>> {
    /// The handler's errors can be shown.
    #[must_use]
    pub fn with_text(self) -> Self {
        Self(ErrorOps { text: Some(text_of::<T, E>), ..self.0 })
    }
}

fn text_of<T, E: Display>(reply: &Result<T, E>) -> String {
    match reply {
        Ok(_) => String::new(),
        Err(error) => text(error),
    }
}

impl<R> Deref for Errors<R> {
    type Target = ErrorOps<R>;

    fn deref(&self) -> &ErrorOps<R> {
        &self.0
    }
}

impl<R> ErrorOps<R> {
    /// The handler's errors cannot be shown.
    #[must_use]
    pub fn with_text(&self) -> Errors<R> {
        Errors(*self)
    }
}

/// How the guard makes and settles a handler's errors. Without bounds: [`Errors`] has checked them.
pub struct ErrorOps<R> {
    from: fn(Error) -> R,
    text: Option<fn(&R) -> String>,
    settled: Settled<R>,
}

/// How an error of the handler is settled.
enum Settled<R> {
    Released,
    Recorded(Recorded<R>),
    Judged(fn(&R) -> OnError),
    #[cfg(feature = "http")]
    Held(fn(&R) -> bool),
}

/// What is to be done about one error of a handler.
pub(crate) enum Judgement<'a> {
    /// The claim is released.
    Release,
    /// The error is the result.
    Record(&'a dyn Serialize),
    /// The failure is final; with its summary.
    Reject(String),
    /// Nobody can know what the run did: the claim is held.
    #[cfg(feature = "http")]
    Hold,
}

impl<R> ErrorOps<R> {
    /// Errors that are released, but for those that `held` picks out: after these nobody can know what the run did.
    #[cfg(feature = "http")]
    pub(crate) fn held(from: fn(Error) -> R, text: fn(&R) -> String, held: fn(&R) -> bool) -> Self {
        Self { from, text: Some(text), settled: Settled::Held(held) }
    }

    /// Whether an error can be a result: recorded, or final.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn can_be_final(&self) -> bool {
        matches!(self.settled, Settled::Recorded(_) | Settled::Judged(_))
    }

    /// What is to be done about the error in `reply`.
    pub(crate) fn judge<'a>(&self, reply: &'a R) -> Judgement<'a> {
        match &self.settled {
            Settled::Released => Judgement::Release,
            Settled::Recorded(recorded) => match (recorded.encode)(reply) {
                Some(error) => Judgement::Record(error),
                None => Judgement::Release,
            },
            Settled::Judged(judge) => match judge(reply) {
                OnError::Release => Judgement::Release,
                OnError::Reject(summary) => Judgement::Reject(summary),
            },
            #[cfg(feature = "http")]
            Settled::Held(held) if held(reply) => Judgement::Hold,
            #[cfg(feature = "http")]
            Settled::Held(_) => Judgement::Release,
        }
    }

    /// What people are shown of the error in `reply`: nothing where it cannot be shown.
    #[expect(clippy::manual_map, reason = "a closure would be compiled for every type once more")]
    pub(crate) fn text(&self, reply: &R) -> Option<String> {
        match self.text {
            Some(text) => Some(text(reply)),
            None => None,
        }
    }

    /// `Err(error)` from a recorded error: `None` for a handler whose errors are not recorded.
    pub(crate) fn decode(&self, from: Reader<'_, '_>) -> Option<Result<R, erased_serde::Error>> {
        match &self.settled {
            Settled::Recorded(recorded) => Some((recorded.decode)(from)),
            Settled::Released | Settled::Judged(_) => None,
            #[cfg(feature = "http")]
            Settled::Held(_) => None,
        }
    }

    /// `Err(error)`, in the handler's own error type.
    #[must_use]
    pub(crate) fn from(&self, error: Error) -> R {
        (self.from)(error)
    }
}

impl<R> Clone for Errors<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Errors<R> {}

impl<R> Clone for ErrorOps<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for ErrorOps<R> {}

impl<R> Clone for Settled<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Settled<R> {}

/// The longest text of an error that a record keeps, in characters.
const LONGEST_TEXT: usize = 200;

/// The text of an error as a record keeps it: short, and on one line.
fn text(error: &dyn Display) -> String {
    let mut line = Line { text: String::new(), left: LONGEST_TEXT };
    if write!(line, "{error}").is_err() {
        line.text.push('…');
    }
    line.text
}

/// Takes so many characters, then fails.
struct Line {
    text: String,
    left: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(if char.is_control() { ' ' } else { char });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Opaque;

    #[test]
    fn an_error_is_shown_if_it_can_be() {
        let shown = Errors::<Result<(), &str>>::by(|_| Ok(())).with_text();
        assert_eq!(shown.text(&Err("no stock")).as_deref(), Some("no stock"));
        let not_shown = Errors::<Result<(), Opaque>>::by(|_| Ok(())).with_text();
        assert_eq!(not_shown.text(&Err(Opaque)), None);
    }

    #[test]
    fn a_text_is_short_and_on_one_line() {
        assert_eq!(text(&"a\nb\u{1b}[31m"), "a b [31m");
        assert_eq!(text(&"é".repeat(200)), "é".repeat(200));
        assert_eq!(text(&"é".repeat(201)), "é".repeat(200) + "…");
    }

    #[test]
    fn an_error_that_cannot_be_written_is_no_panic() {
        struct Broken;
        impl Display for Broken {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                Err(fmt::Error)
            }
        }
        assert_eq!(text(&Broken), "…");
    }
}
