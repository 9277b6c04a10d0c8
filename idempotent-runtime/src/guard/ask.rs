//! Asking the store: repeated under one token, within one budget.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::backoff::Backoff;
use crate::patience;
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
        let mut end = None;
        poll_fn(|cx| {
            loop {
                let (answer, again) = patience::watched(repeat.as_mut(), cx);
                if let Poll::Ready(answer) = answer {
                    return Poll::Ready(Some(answer));
                }
                let end = *end.get_or_insert_with(|| patience::after(budget));
                // A store that bounds what it asks another is polled again when that bound is reached.
                let next = again.map_or(end, |again| again.min(end));
                match timer.as_mut().as_pin_mut() {
                    None => timer.set(Some(sleep_until(next))),
                    Some(timer) if timer.deadline() != next => timer.reset(next),
                    Some(_) => {}
                }
                let Some(timer) = timer.as_mut().as_pin_mut() else { return Poll::Pending };
                match timer.poll(cx) {
                    Poll::Ready(()) if Instant::now() >= end => return Poll::Ready(None),
                    Poll::Ready(()) => {}
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    };
    answer
        .unwrap_or_else(|| Err(last.unwrap_or_else(|| StoreError::unavailable(format!("no answer within {budget:?}")))))
}
