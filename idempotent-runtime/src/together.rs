//! Several answers awaited at once.

use std::future::{Future, poll_fn};
use std::task::Poll;

/// Awaits all, and gives their answers in order.
///
/// Each is polled whenever one of them wakes: meant for a hundred or so.
pub(crate) async fn together<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|cx| {
        let mut is_over = true;
        for (future, answer) in all.iter_mut().filter(|(_, answer)| answer.is_none()) {
            match future.as_mut().poll(cx) {
                Poll::Ready(given) => *answer = Some(given),
                Poll::Pending => is_over = false,
            }
        }
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    all.into_iter().filter_map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn answers_come_in_order_and_are_awaited_at_once() {
        let started = tokio::time::Instant::now();
        let after = |seconds| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            seconds
        };
        assert_eq!(together([3, 1, 2].map(after)).await, [3, 1, 2]);
        assert_eq!(started.elapsed(), Duration::from_secs(3));
        assert_eq!(together(std::iter::empty::<std::future::Ready<()>>()).await, []);
    }
}
