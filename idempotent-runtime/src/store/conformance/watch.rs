//! Waking those who wait for the end of a run, where the store can.

use std::future::Future;
use std::time::Duration;

use super::trial::{Trial, call};
use crate::store::{Found, Watch};

/// Long against a wake-up on any store.
pub(super) const BOUND: Duration = Duration::from_secs(5);

/// A run whose end a store must tell, where it does not do so surely.
const LONG_ENOUGH: Duration = Duration::from_millis(50);

/// A watch that wakes from now on; `None` where the store wakes nobody.
pub(super) async fn ready(t: &Trial<'_>) -> Option<Watch> {
    let mut watch = t.store.watch(&t.key);
    if !watch.wakes() {
        return None;
    }
    let ready = tokio::time::timeout(BOUND, watch.ready()).await;
    assert!(ready.expect("the watch was not made ready"), "the watch will not wake after all");
    if !watch.is_sure() {
        tokio::time::sleep(LONG_ENOUGH).await;
    }
    Some(watch)
}

/// Watches the key, looks (a waiter watches first, so that it misses nothing), lets the run end, and is woken.
async fn is_woken(t: &Trial<'_>, end: impl Future<Output = ()>) {
    let Some((asleep, first)) = ready(t).await.zip(ready(t).await) else { return end.await };
    t.claim(call("waiting")).await.in_progress(1, "A");
    end.await;
    for mut watch in [first, asleep] {
        assert!(tokio::time::timeout(BOUND, watch.ended()).await.is_ok(), "the watch was not woken");
    }
}

pub(super) async fn a_completion_wakes(t: &Trial<'_>) {
    let a = t.live().await;
    is_woken(t, async { t.complete(a).await.held() }).await;
}

pub(super) async fn a_release_wakes(t: &Trial<'_>) {
    let a = t.live().await;
    is_woken(t, async { t.release(a, "burnt").await.held() }).await;
}

pub(super) async fn giving_up_wakes(t: &Trial<'_>) {
    let a = t.live().await;
    is_woken(t, async { t.give_up(a).await.held() }).await;
}

pub(super) async fn a_put_back_wakes(t: &Trial<'_>) {
    let a = t.live().await;
    is_woken(t, async { t.put_back(a).await.held() }).await;
}

pub(super) async fn nothing_wakes_the_watch_of_another_key(t: &Trial<'_>) {
    let other = t.under(t.key_like("other"));
    let watch = ready(&other).await;
    let a = t.live().await;
    t.complete(a).await.held();
    let Some(mut watch) = watch else { return };
    let soon = 2 * t.harness.tick();
    assert!(tokio::time::timeout(soon, watch.ended()).await.is_err(), "woken by another key");
}

pub(super) async fn a_watch_that_is_dropped_wakes_nobody_wrongly(t: &Trial<'_>) {
    let a = t.live().await;
    let kept = ready(t).await;
    drop(ready(t).await);
    t.complete(a).await.held();
    if let Some(mut kept) = kept {
        assert!(tokio::time::timeout(BOUND, kept.ended()).await.is_ok(), "the other watch was not woken");
    }
    t.claim(call("B").supersede(&a.completed(1, super::trial::value(b"1")))).await.acquired(2, Found::Completed);
}
