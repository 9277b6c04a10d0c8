//! Waking those who wait for the end of a run, where the store can.

use std::future::Future;
use std::time::Duration;

use super::trial::{Trial, call};
use crate::store::{Found, Watch};

/// Long against a wake-up on any store.
pub(super) const BOUND: Duration = Duration::from_secs(5);

/// Watches the key, looks (a waiter watches first, so that it misses nothing), lets the run end, and is woken.
async fn is_woken(t: &Trial<'_>, end: impl Future<Output = ()>) {
    if !t.store.watch(&t.key).wakes() {
        return end.await;
    }
    let (asleep, first) = (t.store.watch(&t.key), t.store.watch(&t.key));
    t.claim(call("waiting")).await.in_progress(1, "A");
    end.await;
    for watch in [first, asleep] {
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
    let watch: Watch = other.store.watch(&other.key);
    let a = t.live().await;
    t.complete(a).await.held();
    let soon = 2 * t.harness.tick();
    assert!(tokio::time::timeout(soon, watch.ended()).await.is_err(), "woken by another key");
}

pub(super) async fn a_watch_that_is_dropped_wakes_nobody_wrongly(t: &Trial<'_>) {
    let a = t.live().await;
    let kept = t.store.watch(&t.key);
    drop(t.store.watch(&t.key));
    t.complete(a).await.held();
    if t.store.watch(&t.key).wakes() {
        assert!(tokio::time::timeout(BOUND, kept.ended()).await.is_ok(), "the other watch was not woken");
    }
    t.claim(call("B").supersede(&a.completed(1, super::trial::value(b"1")))).await.acquired(2, Found::Completed);
}
