//! `claim` on another's claim that has lapsed or was given up.

use super::trial::{Trial, call};
use crate::store::Found;

const BEGUN: Found = Found::Lapsed { begun: true };
const NOT_BEGUN: Found = Found::Lapsed { begun: false };

pub(super) async fn claim_of_lapsed_is_taken_over(t: &Trial<'_>) {
    t.lapsed().await;
    t.claim(call("B")).await.acquired(2, BEGUN);
    t.look().await.in_progress(2, "B");
}

pub(super) async fn claim_of_lapsed_with_another_fingerprint_is_a_mismatch(t: &Trial<'_>) {
    t.lapsed_as(t.brief("A").fingerprint(1)).await;
    t.claim(call("B").fingerprint(2)).await.mismatch();
    t.look().await.abandoned(1, "A");
    t.claim(call("B").fingerprint(1)).await.acquired(2, BEGUN);
}

pub(super) async fn claim_of_lapsed_without_an_attempt_left_is_exhausted(t: &Trial<'_>) {
    t.lapsed().await;
    t.claim(call("B").max(1)).await.exhausted(1);
    t.claim(call("B").max(2)).await.acquired(2, BEGUN);
}

pub(super) async fn claim_of_lapsed_under_hold_is_abandoned(t: &Trial<'_>) {
    t.lapsed().await;
    t.claim(call("B").hold()).await.abandoned(1, "A");
    t.claim(call("B").hold().max(2)).await.abandoned(1, "A");
    t.claim(call("B")).await.acquired(2, BEGUN);
}

pub(super) async fn exhausted_comes_before_abandoned(t: &Trial<'_>) {
    t.lapsed().await;
    t.claim(call("B").hold().max(1)).await.exhausted(1);
}

pub(super) async fn claim_of_lapsed_that_had_not_begun_keeps_the_attempt(t: &Trial<'_>) {
    t.lapsed_unbegun().await;
    let b = t.brief("B").unbegun().hold().max(1);
    t.claim(b).await.acquired(1, NOT_BEGUN);
    t.lapse(b).await;
    t.claim(call("C").hold().max(1)).await.acquired(1, NOT_BEGUN);
}

pub(super) async fn a_claim_that_never_began_counts_for_nothing_after_a_failure(t: &Trial<'_>) {
    t.failed().await;
    let b = t.brief("B").unbegun();
    t.claim(b).await.acquired(2, Found::Failed);
    t.lapse(b).await;
    t.claim(call("C").hold().max(2)).await.acquired(2, NOT_BEGUN);
}

pub(super) async fn a_claim_that_never_began_does_not_hide_the_failure_before_it(t: &Trial<'_>) {
    // `B` may run once more, and dies before it begins. For `C` one run is enough.
    t.failed().await;
    let b = t.brief("B").unbegun().max(2);
    t.claim(b).await.acquired(2, Found::Failed);
    t.lapse(b).await;
    t.claim(call("C").max(1)).await.exhausted(1);
    t.claim(call("C").max(2)).await.acquired(2, NOT_BEGUN);
}

pub(super) async fn a_claim_that_never_began_does_not_hide_the_run_before_it(t: &Trial<'_>) {
    // `B` may take over (it knows how to look for the effect), and dies before it begins. `C` must still not run.
    t.lapsed().await;
    let b = t.brief("B").unbegun();
    t.claim(b).await.acquired(2, BEGUN);
    t.lapse(b).await;
    t.claim(call("C").hold()).await.abandoned(1, "A");
    t.claim(call("C").max(1)).await.exhausted(1);
    // Nor does a second one on top of it.
    let d = t.brief("D").unbegun();
    t.claim(d).await.acquired(2, BEGUN);
    t.lapse(d).await;
    t.claim(call("C").hold()).await.abandoned(1, "A");
    t.claim(call("E")).await.acquired(2, BEGUN);
}

pub(super) async fn what_was_given_up_is_lapsed_at_once(t: &Trial<'_>) {
    t.given_up().await;
    t.claim(call("B").hold()).await.abandoned(1, "A");
    t.claim(call("B").max(1)).await.exhausted(1);
    t.claim(call("B")).await.acquired(2, BEGUN);
}

pub(super) async fn what_was_given_up_is_compared_by_fingerprint(t: &Trial<'_>) {
    let a = call("A").fingerprint(1);
    t.claim(a).await.acquired(1, Found::Absent);
    t.give_up(a).await.held();
    t.claim(call("B").fingerprint(2)).await.mismatch();
    t.claim(call("B").fingerprint(1)).await.acquired(2, BEGUN);
}

pub(super) async fn the_one_taken_over_can_do_nothing(t: &Trial<'_>) {
    let a = t.lapsed().await;
    let b = call("B");
    t.claim(b).await.acquired(2, BEGUN);
    t.claim(a).await.in_progress(2, "B");
    t.begin(a).await.lost();
    t.renew(a).await.lost();
    t.complete(a).await.lost();
    t.release(a, "late").await.lost();
    t.give_up(a).await.lost();
    t.put_back(a).await.lost();
    t.look().await.in_progress(2, "B");
    t.complete(b).await.held();
}

pub(super) async fn attempts_are_counted_through_crashes(t: &Trial<'_>) {
    t.lapsed().await;
    for (attempt, owner) in [(2, "B"), (3, "C")] {
        let call = t.brief(owner).max(3);
        t.claim(call).await.acquired(attempt, BEGUN);
        t.lapse(call).await;
    }
    t.claim(call("D").max(3)).await.exhausted(3);
    t.claim(call("D")).await.acquired(4, BEGUN);
}
