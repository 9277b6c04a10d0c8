//! Every kind of function that the attribute works on: called twice, it runs once, and both calls get the same value.

#![warn(clippy::all, clippy::pedantic, clippy::nursery)]
#![deny(unused, clippy::unused_async)]
// These are as true of the plain functions, or have nothing to do with them.
#![allow(clippy::manual_async_fn, clippy::future_not_send, clippy::redundant_pub_crate)]

mod attributes;
mod crates;
mod future;
mod futures;
mod generics;
mod methods;
mod outcomes;
mod results;

use std::cell::Cell;
use std::fmt::Debug;
use std::future::Future;
use std::num::ParseIntError;

use idempotent_runtime::{Error, ErrorKind, Idempotency, OutcomeKind, idempotent, with_outcome};
use serde::{Deserialize, Serialize};

thread_local! {
    /// Runs of bodies in the test that this thread is.
    static RUNS: Cell<u32> = const { Cell::new(0) };
}

/// What every body does once.
async fn ran() {
    tokio::task::yield_now().await;
    RUNS.set(RUNS.get() + 1);
}

/// Calls twice: the body runs once.
async fn runs_once<T, E, F>(mut call: impl FnMut() -> F) -> T
where
    T: PartialEq + Debug,
    E: Debug,
    F: Future<Output = Result<T, E>>,
{
    Idempotency::memory().scope(runs_once_here(&mut call)).await
}

async fn runs_once_here<T, E, F>(call: &mut impl FnMut() -> F) -> T
where
    T: PartialEq + Debug,
    E: Debug,
    F: Future<Output = Result<T, E>>,
{
    let before = RUNS.get();
    let (first, outcome) = with_outcome(call()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Executed);
    let (second, outcome) = with_outcome(call()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Replayed);
    assert_eq!(RUNS.get(), before + 1);
    let first = first.expect("the first call succeeds");
    assert_eq!(first, second.expect("the duplicate succeeds"));
    first
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Receipt(u64);

#[derive(Clone)]
struct Order {
    id: u64,
    lines: Vec<u32>,
}

const fn order() -> Order {
    Order { id: 7, lines: Vec::new() }
}

#[derive(Debug)]
enum OrderError {
    Number,
    Idempotency(ErrorKind),
}

impl From<Error> for OrderError {
    fn from(error: Error) -> Self {
        Self::Idempotency(error.kind())
    }
}

impl From<ParseIntError> for OrderError {
    fn from(_: ParseIntError) -> Self {
        Self::Number
    }
}

#[idempotent(prefix = "free", keys = [order.id], ttl = 24h)]
async fn free(order: Order) -> Result<Receipt, OrderError> {
    ran().await;
    Ok(Receipt(order.id))
}

#[tokio::test]
async fn free_functions() {
    assert_eq!(runs_once(|| free(order())).await, Receipt(7));
}
