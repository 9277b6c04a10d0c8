//! `complete`, state by state. What may stand in a result is in `contents`.

use super::trial::{LONG, Trial, call, value};
use crate::store::{Found, Retention};

pub(super) async fn complete_of_the_own_claim_is_held(t: &Trial<'_>) {
    let a = t.live().await;
    t.complete(a).await.held();
    t.look().await.completed(&a.completed(1, value(b"1")));
}

pub(super) async fn complete_of_a_lapsed_claim_is_held(t: &Trial<'_>) {
    let a = t.lapsed().await;
    t.complete(a).await.held();
    t.look().await.completed(&a.completed(1, value(b"1")));
}

pub(super) async fn complete_of_a_claim_that_has_not_begun_is_held(t: &Trial<'_>) {
    // The effect was found to be there already: its value is recorded without a run.
    let a = call("A").unbegun();
    t.claim(a).await.acquired(1, Found::Absent);
    t.complete(a).await.held();
    t.look().await.completed(&a.completed(1, value(b"1")));
}

pub(super) async fn complete_repeated_is_held_and_changes_nothing(t: &Trial<'_>) {
    let (a, record) = t.completed().await;
    t.complete(a).await.held();
    t.complete_with(a, &value(b"2"), Retention::For(LONG)).await.held();
    t.look().await.completed(&record);
}

pub(super) async fn complete_repeated_does_not_start_the_ttl_again(t: &Trial<'_>) {
    let a = t.live().await;
    t.complete_with(a, &value(b"1"), t.brief_retention()).await.held();
    t.ticks(1.0).await;
    t.complete_with(a, &value(b"1"), t.brief_retention()).await.held();
    t.ticks(1.5).await;
    // The two ticks of the first completion have passed.
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn complete_of_a_claim_given_up_is_lost(t: &Trial<'_>) {
    let a = t.given_up().await;
    t.complete(a).await.lost();
    t.look().await.abandoned(1, "A");
}

pub(super) async fn complete_of_failed_is_lost(t: &Trial<'_>) {
    let a = t.failed().await;
    t.complete(a).await.lost();
    t.complete(call("B")).await.lost();
    t.look_at_failed().await.exhausted(1);
}

pub(super) async fn complete_of_anothers_claim_is_lost(t: &Trial<'_>) {
    t.live().await;
    t.complete(call("B")).await.lost();
    t.look().await.in_progress(1, "A");
}

pub(super) async fn complete_of_anothers_lapsed_claim_is_lost(t: &Trial<'_>) {
    t.lapsed().await;
    t.complete(call("B")).await.lost();
    t.look().await.abandoned(1, "A");
}

pub(super) async fn complete_after_another_has_completed_is_lost_to_it(t: &Trial<'_>) {
    let a = t.lapsed().await;
    let b = call("B").fingerprint(7);
    t.claim(b).await.acquired(2, Found::Lapsed { begun: true });
    t.complete_with(b, &value(b"2"), Retention::For(LONG)).await.held();
    let record = b.completed(2, value(b"2"));
    t.complete(a).await.lost_to(&record);
    t.look().await.completed(&record);
}

pub(super) async fn complete_of_absent_is_absent_and_creates_nothing(t: &Trial<'_>) {
    t.complete(call("A")).await.absent();
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn complete_of_an_expired_claim_is_absent(t: &Trial<'_>) {
    let a = t.brief("A").retention(4 * t.harness.tick());
    t.claim(a).await.acquired(1, Found::Absent);
    t.ticks(4.5).await;
    t.complete(a).await.absent();
    // The guard may claim again and complete, so that the effect just made is not made once more.
    let again = call("A");
    t.claim(again).await.acquired(1, Found::Absent);
    t.complete(again).await.held();
}

pub(super) async fn complete_after_release_is_lost(t: &Trial<'_>) {
    let a = t.live().await;
    t.release(a, "burnt").await.held();
    t.complete(a).await.lost();
    t.claim(call("B")).await.acquired(2, Found::Failed);
    t.complete(a).await.lost();
}

pub(super) async fn complete_after_put_back_is_lost(t: &Trial<'_>) {
    let a = t.live().await;
    t.put_back(a).await.held();
    t.complete(a).await.lost();
    t.claim(call("B")).await.acquired(1, Found::Failed);
}
