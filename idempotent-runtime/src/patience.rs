//! Time-outs inside a time-out, with one timer for all.
//!
//! A timer costs a call on a network as much as what else it does in this process. Where a store bounds the operations of
//! another, each would have two: that of the guard, and the store's. So whoever bounds a future from outside *watches*: it
//! polls it with [`watched`], and is told until when it is to poll again. A time-out inside tells it so, and needs no timer.
//!
//! This holds only for futures that are polled whenever the one outside is. One that is polled by itself, under a waker of
//! its own (a task, a set of futures), finds itself unwatched and has a timer of its own.

use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Thirty years, as for the client's own timers.
const FOR_EVER: Duration = Duration::from_hours(30 * 365 * 24);

/// Who watches on this thread just now, and until when at the latest.
#[derive(Clone, Copy)]
struct Watch {
    by: Identity,
    until: Option<Instant>,
}

/// Which waker it is: enough to know one again while it lives.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity(*const (), *const ());

impl Identity {
    fn of(waker: &Waker) -> Self {
        Self(waker.data(), std::ptr::from_ref(waker.vtable()).cast())
    }
}

thread_local! {
    static WATCH: Cell<Option<Watch>> = const { Cell::new(None) };
}

/// Sets what was before, also after a panic.
struct Before(Option<Watch>);

impl Drop for Before {
    fn drop(&mut self) {
        WATCH.set(self.0);
    }
}

/// Polls a future, and says when it wants to be polled again at the latest, though nothing wakes it. The caller sees to it.
pub(crate) fn watched<F: Future + ?Sized>(
    future: Pin<&mut F>,
    cx: &mut Context<'_>,
) -> (Poll<F::Output>, Option<Instant>) {
    let watch = Watch { by: Identity::of(cx.waker()), until: None };
    let _before = Before(WATCH.replace(Some(watch)));
    let polled = future.poll(cx);
    (polled, WATCH.get().and_then(|watch| watch.until))
}

/// Asks whoever watches to poll again at `time`; whether anybody does.
fn ask_for(time: Instant, waker: &Waker) -> bool {
    let Some(watch) = WATCH.get().filter(|watch| watch.by == Identity::of(waker)) else { return false };
    let until = watch.until.map_or(time, |until| until.min(time));
    WATCH.set(Some(Watch { until: Some(until), ..watch }));
    true
}

/// So long from now, or as good as for ever.
pub(crate) fn after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + FOR_EVER)
}

/// What a future comes to within `time` from its first poll; `None` where it takes longer.
pub(crate) async fn within<F: Future>(time: Duration, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut end: Option<Instant> = None;
    // In a box, since few need it.
    let mut timer: Option<Pin<Box<Sleep>>> = None;
    std::future::poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        let end = match end {
            Some(end) if Instant::now() >= end => return Poll::Ready(None),
            Some(end) => end,
            None => *end.insert(after(time)),
        };
        if timer.is_none() && ask_for(end, cx.waker()) {
            return Poll::Pending;
        }
        timer.get_or_insert_with(|| Box::pin(sleep_until(end))).as_mut().poll(cx).map(|()| None)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    use tokio::time::{advance, timeout};

    use super::*;

    const TIME: Duration = Duration::from_millis(250);

    /// A waker that counts, and wakes another.
    struct Counting(AtomicU32, Waker);

    impl Wake for Counting {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
            self.1.wake_by_ref();
        }
    }

    /// Polls once, as somebody who watches.
    async fn watch_once<F: Future>(mut future: Pin<&mut F>) -> (Poll<F::Output>, Option<Instant>) {
        std::future::poll_fn(|cx| Poll::Ready(watched(future.as_mut(), cx))).await
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_watched_is_over_when_it_is_polled_after_its_end_and_asks_for_that() {
        let started = Instant::now();
        let mut waiting = pin!(within(TIME, pending::<()>()));
        assert_eq!(watch_once(waiting.as_mut()).await, (Poll::Pending, Some(started + TIME)));
        advance(TIME / 2).await;
        assert_eq!(watch_once(waiting.as_mut()).await, (Poll::Pending, Some(started + TIME)), "it asks each time");
        advance(TIME / 2).await;
        assert_eq!(watch_once(waiting.as_mut()).await.0, Poll::Ready(None));
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_of_those_inside_is_asked_for() {
        let started = Instant::now();
        let both = async {
            tokio::join!(within(TIME * 2, pending::<()>()), within(TIME, pending::<()>()));
        };
        let mut both = pin!(within(TIME * 3, both));
        assert_eq!(watch_once(both.as_mut()).await, (Poll::Pending, Some(started + TIME)));
        advance(TIME).await;
        assert_eq!(watch_once(both.as_mut()).await, (Poll::Pending, Some(started + TIME * 2)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_watches_ends_by_itself() {
        let started = Instant::now();
        assert_eq!(within(TIME, pending::<()>()).await, None);
        assert_eq!(started.elapsed(), TIME);
        assert_eq!(within(TIME, async { 7 }).await, Some(7));
    }

    #[tokio::test]
    async fn a_time_that_no_clock_reaches_is_for_ever() {
        assert_eq!(within(Duration::MAX, async { tokio::task::yield_now().await }).await, Some(()));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_polled_under_another_waker_ends_by_itself() {
        let started = Instant::now();
        let mut inside = Box::pin(within(TIME, pending::<()>()));
        let apart = std::future::poll_fn(|cx| {
            let counting = Arc::new(Counting(AtomicU32::new(0), cx.waker().clone()));
            inside.as_mut().poll(&mut Context::from_waker(&counting.into()))
        });
        let mut apart = pin!(apart);
        assert_eq!(watch_once(apart.as_mut()).await, (Poll::Pending, None), "nobody is asked");
        assert_eq!(timeout(TIME * 2, apart).await, Ok(None));
        assert_eq!(started.elapsed(), TIME);
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_watched_once_and_is_no_more_ends_by_itself() {
        let started = Instant::now();
        let mut waiting = Box::pin(within(TIME, pending::<()>()));
        assert_eq!(watch_once(waiting.as_mut()).await, (Poll::Pending, Some(started + TIME)));
        assert_eq!(tokio::spawn(waiting).await.expect("it ends"), None);
        assert_eq!(started.elapsed(), TIME);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_leaves_nobody_watching() {
        let panics = async { panic!("as it should") };
        let mut panics = Box::pin(panics);
        let polled = std::future::poll_fn(|cx| {
            let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                watched::<dyn Future<Output = ()>>(panics.as_mut(), cx)
            }));
            Poll::Ready(polled.is_err())
        });
        assert!(polled.await);
        let started = Instant::now();
        assert_eq!(within(TIME, pending::<()>()).await, None, "its own timer ends it");
        assert_eq!(started.elapsed(), TIME);
    }
}
