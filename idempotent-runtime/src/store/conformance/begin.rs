//! `begin`, state by state.

use super::trial::{Trial, call};
use crate::store::Found;

pub(super) async fn begin_of_the_own_live_claim_makes_it_a_run(t: &Trial<'_>) {
    let a = t.roomy("A").unbegun();
    t.claim(a).await.acquired(1, Found::Absent);
    t.begin(a).await.held();
    t.lapse(a).await;
    t.claim(call("B").hold()).await.abandoned(1, "A");
    t.claim(call("B").max(1)).await.exhausted(1);
    t.claim(call("B")).await.acquired(2, Found::Lapsed { begun: true });
}

pub(super) async fn begin_starts_the_lease_again(t: &Trial<'_>) {
    let a = call("A").unbegun();
    t.claim(a).await.acquired(1, Found::Absent);
    t.ticks(2.0).await;
    let before = t.look().await.in_progress(1, "A");
    t.begin(a).await.held();
    assert!(t.look().await.in_progress(1, "A") > before);
}

pub(super) async fn begin_repeated_is_held(t: &Trial<'_>) {
    let a = call("A").unbegun();
    t.claim(a).await.acquired(1, Found::Absent);
    t.begin(a).await.held();
    t.begin(a).await.held();
    t.claim(a).await.acquired(1, Found::Absent);
    t.look().await.in_progress(1, "A");
}

pub(super) async fn a_repeated_claim_does_not_undo_begin(t: &Trial<'_>) {
    let a = t.roomy("A").unbegun();
    t.claim(a).await.acquired(1, Found::Absent);
    t.begin(a).await.held();
    t.claim(a).await.acquired(1, Found::Absent);
    t.lapse(a).await;
    t.claim(call("B").hold()).await.abandoned(1, "A");
}

pub(super) async fn begin_of_a_lapsed_claim_is_lost(t: &Trial<'_>) {
    let a = t.lapsed_unbegun().await;
    t.begin(a).await.lost();
    t.claim(call("B").hold().max(1)).await.acquired(1, Found::Lapsed { begun: false });
}

pub(super) async fn begin_of_a_claim_given_up_is_lost(t: &Trial<'_>) {
    let a = t.given_up().await;
    t.begin(a).await.lost();
    t.look().await.abandoned(1, "A");
}

pub(super) async fn begin_of_anothers_claim_is_lost(t: &Trial<'_>) {
    let a = t.brief("A").unbegun();
    t.claim(a).await.acquired(1, Found::Absent);
    t.begin(call("B")).await.lost();
    t.lapse(a).await;
    t.claim(call("C").hold()).await.acquired(1, Found::Lapsed { begun: false });
}

pub(super) async fn begin_of_failed_is_lost(t: &Trial<'_>) {
    let a = t.failed().await;
    t.begin(a).await.lost();
    t.begin(call("B")).await.lost();
    t.look_at_failed().await.exhausted(1);
}

pub(super) async fn begin_of_completed_is_lost(t: &Trial<'_>) {
    let (a, record) = t.completed().await;
    t.begin(a).await.lost();
    t.begin(call("B")).await.lost();
    t.look().await.completed(&record);
}

pub(super) async fn begin_of_absent_is_lost_and_creates_nothing(t: &Trial<'_>) {
    t.begin(call("A")).await.lost();
    t.claim(call("B")).await.acquired(1, Found::Absent);
}
