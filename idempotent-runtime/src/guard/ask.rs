//! Asking the store: repeated under one token, within one budget.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::sleep;

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
    let answer = {
        let mut repeat = pin!(async {
            let mut backoff = Backoff::new();
            loop {
                match operation().await {
                    Err(error) if error.kind() == StoreErrorKind::Unavailable => last = Some(error),
                    answer => return answer,
                }
                // In a box, which keeps this future small for all who need no pause.
                Box::pin(backoff.pause()).await;
            }
        });
        // Made when it is needed: a store inside the process answers at once.
        let mut timer = pin!(None);
        poll_fn(|cx| {
            if let Poll::Ready(answer) = repeat.as_mut().poll(cx) {
                return Poll::Ready(Some(answer));
            }
            if timer.is_none() {
                timer.set(Some(sleep(budget)));
            }
            timer.as_mut().as_pin_mut().map_or(Poll::Pending, |timer| timer.poll(cx).map(|()| None))
        })
        .await
    };
    answer
        .unwrap_or_else(|| Err(last.unwrap_or_else(|| StoreError::unavailable(format!("no answer within {budget:?}")))))
}
