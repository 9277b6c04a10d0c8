//! `renew`, state by state.

use super::trial::{Trial, call, value};
use crate::store::{ClaimAnswer, Found};

pub(super) async fn renew_of_the_own_claim_starts_the_lease_again(t: &Trial<'_>) {
    let a = t.live().await;
    t.ticks(2.0).await;
    let before = t.look().await.in_progress(1, "A");
    t.renew(a).await.held();
    assert!(t.look().await.in_progress(1, "A") > before);
}

pub(super) async fn renew_repeated_is_held(t: &Trial<'_>) {
    let a = t.live().await;
    t.renew(a).await.held();
    t.renew(a).await.held();
    t.look().await.in_progress(1, "A");
}

pub(super) async fn renew_of_a_lapsed_claim_makes_it_live(t: &Trial<'_>) {
    let a = t.lapsed().await;
    // On a real server the new lease may be over before anybody has looked.
    for _ in 0..20 {
        t.renew(a).await.held();
        if matches!(t.look().await.0, ClaimAnswer::InProgress { attempt: 1, .. }) {
            return;
        }
    }
    panic!("renewed twenty times, and never live");
}

pub(super) async fn renew_does_not_begin(t: &Trial<'_>) {
    let a = t.brief("A").unbegun();
    t.claim(a).await.acquired(1, Found::Absent);
    t.renew(a).await.held();
    t.lapse(a).await;
    t.claim(call("B").hold().max(1)).await.acquired(1, Found::Lapsed { begun: false });
}

pub(super) async fn renew_of_a_claim_given_up_is_lost(t: &Trial<'_>) {
    let a = t.given_up().await;
    t.renew(a).await.lost();
    t.look().await.abandoned(1, "A");
}

pub(super) async fn renew_of_anothers_claim_is_lost(t: &Trial<'_>) {
    t.live().await;
    t.ticks(2.0).await;
    let before = t.look().await.in_progress(1, "A");
    t.renew(call("B")).await.lost();
    assert!(t.look().await.in_progress(1, "A") <= before);
}

pub(super) async fn renew_of_anothers_lapsed_claim_revives_nothing(t: &Trial<'_>) {
    t.lapsed().await;
    t.renew(call("B")).await.lost();
    t.look().await.abandoned(1, "A");
}

pub(super) async fn renew_of_failed_is_lost(t: &Trial<'_>) {
    let a = t.failed().await;
    t.renew(a).await.lost();
    t.renew(call("B")).await.lost();
    t.look_at_failed().await.exhausted(1);
}

pub(super) async fn renew_of_completed_is_lost(t: &Trial<'_>) {
    let (a, record) = t.completed().await;
    t.renew(a).await.lost();
    t.renew(call("B")).await.lost();
    t.look().await.completed(&record);
}

pub(super) async fn renew_of_completed_does_not_touch_its_expiry(t: &Trial<'_>) {
    let a = t.live().await;
    t.complete_with(a, &value(b"1"), t.brief_retention()).await.held();
    t.ticks(1.0).await;
    t.renew(a).await.lost();
    t.ticks(1.5).await;
    // The two ticks of its ttl have passed, whatever the renewal.
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn renew_of_absent_is_lost_and_creates_nothing(t: &Trial<'_>) {
    t.renew(call("A")).await.lost();
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn renew_of_an_expired_claim_is_lost_and_creates_nothing(t: &Trial<'_>) {
    let a = t.brief("A").retention(4 * t.harness.tick());
    t.claim(a).await.acquired(1, Found::Absent);
    t.ticks(4.5).await;
    t.renew(a).await.lost();
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn renewals_keep_a_claim_beyond_its_first_retention(t: &Trial<'_>) {
    let a = t.brief("A").retention(10 * t.harness.tick());
    t.claim(a).await.acquired(1, Found::Absent);
    for _ in 0..2 {
        t.ticks(6.0).await;
        t.renew(a).await.held();
    }
    t.complete(a).await.held();
}
