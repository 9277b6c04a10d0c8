//! Asking the store: repeated under one token, within one budget.

use std::future::Future;
use std::time::Duration;

use super::backoff::Backoff;
use crate::store::{StoreError, StoreErrorKind};

/// Repeats `operation` until the store answers or `budget` is spent.
///
/// An operation that was not answered may have been applied: unknown is not "no", so it is sent again with the token
/// that it carries. A refusal (password, permission) is not repeated.
pub(super) async fn within<T, F>(budget: Duration, mut operation: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut last = None;
    let repeat = async {
        let mut backoff = Backoff::new();
        loop {
            match operation().await {
                Err(error) if error.kind() == StoreErrorKind::Unavailable => last = Some(error),
                answer => return answer,
            }
            backoff.pause().await;
        }
    };
    match tokio::time::timeout(budget, repeat).await {
        Ok(answer) => answer,
        Err(_) => Err(last.unwrap_or_else(|| StoreError::unavailable(format!("no answer within {budget:?}")))),
    }
}
