//! What a function can return: the controls of `fail/value_*.rs`, `fail/error_*.rs`, `fail/skip_*.rs`,
//! `fail/function_returns_*.rs` and `fail/body_*.rs`.

#![deny(warnings)]

use std::borrow::Cow;
use std::fmt::{self, Display};

use idempotent_runtime::{Error, idempotent};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Receipt(u64);

/// Cannot be recorded.
struct Token(u64);

/// Cannot be recorded, but has a default.
#[derive(Default)]
struct Ticket(u64);

#[derive(Debug)]
enum OrderError {
    Kitchen(std::num::ParseIntError),
    Idempotency(Error),
}

impl Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kitchen(error) => error.fmt(f),
            Self::Idempotency(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OrderError {}

impl From<Error> for OrderError {
    fn from(error: Error) -> Self {
        Self::Idempotency(error)
    }
}

impl From<std::num::ParseIntError> for OrderError {
    fn from(error: std::num::ParseIntError) -> Self {
        Self::Kitchen(error)
    }
}

type OrderResult = Result<Receipt, OrderError>;
type AnyResult<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
type Answer = Result<Receipt, OrderError>;

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn nothing(id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn values_in_values(id: u64) -> Result<Vec<Option<(Receipt, String)>>, OrderError> {
    Ok(vec![Some((Receipt(id), String::new()))])
}

#[idempotent(prefix = "order", keys = [text], ttl = 1h)]
async fn alias(text: &str) -> OrderResult {
    if text.is_empty() {
        return Ok(Receipt(0));
    }
    Ok(Receipt(text.parse()?))
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn alias_by_another_name(id: u64) -> Answer {
    Ok(Receipt(id))
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn any_error(id: u64) -> AnyResult<Receipt> {
    Ok(Receipt(id))
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn value_of_a_parameter<T: Serialize + DeserializeOwned + Default>(id: u64) -> Result<T, Error> {
    Ok(T::default())
}

#[idempotent(prefix = "order", keys = [name], ttl = 1h)]
async fn borrowed_or_owned(name: &str) -> Result<Cow<'_, str>, Error> {
    Ok(Cow::Borrowed(name))
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_duplicate = reject)]
async fn unrecorded(id: u64) -> Result<Token, Error> {
    Ok(Token(id))
}

#[idempotent(prefix = "order", keys = [name], ttl = 1h, on_duplicate = reject)]
async fn unrecorded_reference(name: &str) -> Result<&str, Error> {
    Ok(name)
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_duplicate = skip)]
async fn skipped(id: u64) -> Result<Ticket, Error> {
    Ok(Ticket(id))
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn question_mark_converts(id: u64) -> Result<u64, OrderError> {
    Ok(id.to_string().parse::<u64>()?)
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn never_returns_by_itself(id: u64) -> Result<u64, OrderError> {
    loop {
        if id > 0 {
            return Ok(id);
        }
    }
}

fn main() {
    let _ = (nothing, values_in_values, alias, alias_by_another_name, any_error, value_of_a_parameter::<u64>);
    let _ = (borrowed_or_owned, unrecorded, unrecorded_reference, skipped, question_mark_converts);
    let _ = (never_returns_by_itself, Token(1).0, Ticket(1).0);
}
