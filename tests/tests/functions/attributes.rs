//! Other attributes, above and below, and on arguments.
//!
//! A function under `#[tokio::test]` has no arguments that could name an action, so it cannot be idempotent itself; the
//! attribute of its kind that allows arguments is `#[tokio::main]`.

use axum::extract::Path;
use axum::handler::Handler as _;
use axum::http::{Request, StatusCode};
use idempotent_runtime::{Error, ErrorKind, Idempotency, idempotent};

use crate::{OrderError, RUNS, ran, runs_once};

#[idempotent(prefix = "cfg", keys = [id, present], ttl = 1h)]
async fn cfg_on_arguments(
    id: u64,
    #[cfg(any())] _absent: u64,
    #[cfg(test)] present: &str,
    #[allow(clippy::needless_pass_by_value)] name: String,
) -> Result<usize, Error> {
    ran().await;
    Ok(name.len() + present.len())
}

#[tokio::test]
async fn cfg_and_allow_on_arguments() {
    assert_eq!(runs_once(|| cfg_on_arguments(7, "a", "four".to_owned())).await, 5);
}

/// Doc comments stay.
#[allow(clippy::missing_errors_doc)]
#[tracing::instrument(skip_all, fields(id))]
#[idempotent(prefix = "above", keys = [id], ttl = 1h)]
#[must_use = "so does this"]
async fn instrument_above(id: u64, name: &str) -> Result<usize, OrderError> {
    ran().await;
    Ok(name.parse::<usize>()?)
}

#[must_use = "so does this"]
#[idempotent(prefix = "below", keys = [id], ttl = 1h)]
#[tracing::instrument(skip_all, fields(id), err(Debug))]
async fn instrument_below(id: u64, name: &str) -> Result<usize, OrderError> {
    #![allow(clippy::let_and_return)]
    ran().await;
    let number = name.parse::<usize>()?;
    number.checked_sub(1).map_or(Ok(0), Ok)
}

#[tokio::test]
async fn tracing_instrument_docs_allow_and_must_use() {
    assert_eq!(runs_once(|| instrument_above(7, "4")).await, 4);
    assert_eq!(runs_once(|| instrument_below(7, "4")).await, 3);
}

#[axum::debug_handler]
#[idempotent(prefix = "debug-above", keys = [id], ttl = 1h, map_err = |error| status(&error))]
async fn debug_handler_above(Path(id): Path<u64>) -> Result<String, StatusCode> {
    ran().await;
    Ok(format!("order {id}"))
}

#[idempotent(prefix = "debug-below", keys = [id], ttl = 1h, map_err = |error| status(&error))]
#[axum::debug_handler]
async fn debug_handler_below(Path(id): Path<u64>) -> Result<String, StatusCode> {
    ran().await;
    Ok(format!("order {id}"))
}

fn status(error: &Error) -> StatusCode {
    match error.kind() {
        ErrorKind::Busy => StatusCode::CONFLICT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[tokio::test]
async fn axum_debug_handler() {
    assert_eq!(runs_once(|| debug_handler_above(Path(7))).await, "order 7");
    assert_eq!(runs_once(|| debug_handler_below(Path(7))).await, "order 7");
    // Both are handlers of a service, too. What is extracted from a path comes from a router; without one, nothing runs.
    let before = RUNS.get();
    let above = debug_handler_above.call(Request::default(), ()).await;
    let below = debug_handler_below.call(Request::default(), ()).await;
    assert_eq!(
        (above.status(), below.status()),
        (StatusCode::INTERNAL_SERVER_ERROR, StatusCode::INTERNAL_SERVER_ERROR)
    );
    assert_eq!(RUNS.get(), before);
}

#[idempotent(prefix = "tokio-main", keys = [id], ttl = 1h, via = idempotency)]
#[tokio::main(flavor = "current_thread")]
async fn tokio_main_below(idempotency: &Idempotency, id: u64) -> Result<u64, Error> {
    ran().await;
    Ok(id)
}

#[test]
fn tokio_main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let idempotency = runtime.block_on(async { Idempotency::memory() });
    assert_eq!(tokio_main_below(&idempotency, 7).expect("the first call succeeds"), 7);
    assert_eq!(tokio_main_below(&idempotency, 7).expect("the duplicate succeeds"), 7);
    assert_eq!(RUNS.get(), 1);
}
