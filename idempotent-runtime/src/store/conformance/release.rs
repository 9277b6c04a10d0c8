//! `release`, after a failure and on giving up, state by state.

use super::trial::{Trial, call};
use crate::store::Found;

pub(super) async fn release_of_the_own_claim_makes_it_failed(t: &Trial<'_>) {
    let a = t.live().await;
    t.release(a, "burnt").await.held();
    t.look_at_failed().await.exhausted(1);
    t.claim(call("B").hold()).await.acquired(2, Found::Failed);
}

pub(super) async fn release_of_a_lapsed_claim_makes_it_failed(t: &Trial<'_>) {
    let a = t.lapsed().await;
    t.release(a, "burnt").await.held();
    t.claim(call("B")).await.acquired(2, Found::Failed);
}

pub(super) async fn release_repeated_is_held_and_changes_nothing(t: &Trial<'_>) {
    let a = t.failed().await;
    t.release(a, "burnt").await.held();
    t.give_up(a).await.held();
    t.look_at_failed().await.exhausted(1);
    t.claim(call("B")).await.acquired(2, Found::Failed);
}

pub(super) async fn release_of_anothers_claim_is_lost(t: &Trial<'_>) {
    t.live().await;
    t.release(call("B"), "not mine").await.lost();
    t.give_up(call("B")).await.lost();
    t.look().await.in_progress(1, "A");
}

pub(super) async fn release_of_anothers_lapsed_claim_is_lost(t: &Trial<'_>) {
    t.lapsed().await;
    t.release(call("B"), "not mine").await.lost();
    t.give_up(call("B")).await.lost();
    t.look().await.abandoned(1, "A");
}

pub(super) async fn release_of_anothers_failure_is_lost(t: &Trial<'_>) {
    t.failed().await;
    t.release(call("B"), "not mine").await.lost();
    t.give_up(call("B")).await.lost();
    t.shows_error("burnt").await;
    t.look_at_failed().await.exhausted(1);
}

pub(super) async fn release_deletes_no_result(t: &Trial<'_>) {
    let (a, record) = t.completed().await;
    t.release(a, "late").await.lost();
    t.give_up(a).await.lost();
    t.release(call("B"), "not mine").await.lost();
    t.give_up(call("B")).await.lost();
    t.look().await.completed(&record);
}

pub(super) async fn release_of_absent_keeps_its_own_late_claim_from_coming_alive(t: &Trial<'_>) {
    let a = call("A");
    t.release(a, "burnt").await.held();
    t.claim(a).await.lost();
    t.renew(a).await.lost();
    t.complete(a).await.lost();
    t.claim(call("B").hold().max(1)).await.acquired(1, Found::Failed);
}

pub(super) async fn release_of_absent_repeated_is_held(t: &Trial<'_>) {
    let a = call("A");
    t.release(a, "burnt").await.held();
    t.release(a, "burnt").await.held();
    t.claim(a).await.lost();
}

pub(super) async fn release_of_absent_is_remembered_for_two_leases(t: &Trial<'_>) {
    let a = t.roomy("A");
    t.release(a, "burnt").await.held();
    t.ticks(12.0).await;
    t.claim(a).await.lost();
    t.ticks(8.5).await;
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn giving_up_what_is_absent_is_remembered_too(t: &Trial<'_>) {
    let a = call("A");
    t.give_up(a).await.held();
    t.claim(a).await.lost();
    t.claim(call("B").hold().max(1)).await.acquired(1, Found::Failed);
}

pub(super) async fn release_of_an_expired_claim_is_remembered(t: &Trial<'_>) {
    let a = t.brief("A").retention(4 * t.harness.tick());
    t.claim(a).await.acquired(1, Found::Absent);
    t.ticks(4.5).await;
    t.release(a.lease(super::trial::LONG), "burnt").await.held();
    t.claim(a).await.lost();
    t.claim(call("B")).await.acquired(1, Found::Failed);
}

pub(super) async fn giving_up_keeps_the_record_in_progress_and_lapsed(t: &Trial<'_>) {
    let a = t.live().await;
    t.give_up(a).await.held();
    t.look().await.abandoned(1, "A");
}

pub(super) async fn giving_up_counts_as_a_run(t: &Trial<'_>) {
    let a = call("A").unbegun();
    t.claim(a).await.acquired(1, Found::Absent);
    t.begin(a).await.held();
    t.give_up(a).await.held();
    t.claim(call("B").hold()).await.abandoned(1, "A");
}

// A claim that never began is released only by a late message of a call whose run is counted already.

pub(super) async fn release_of_a_claim_that_never_began_counts_no_run(t: &Trial<'_>) {
    let a = call("A").unbegun();
    t.claim(a).await.acquired(1, Found::Absent);
    t.release(a, "burnt").await.held();
    t.release(a, "burnt").await.held();
    t.claim(a).await.lost();
    t.claim(call("B").hold().max(1)).await.acquired(1, Found::Failed);
}

pub(super) async fn release_of_a_claim_that_never_began_keeps_the_failure_before_it(t: &Trial<'_>) {
    t.failed().await;
    let b = call("B").unbegun();
    t.claim(b).await.acquired(2, Found::Failed);
    t.release(b, "late").await.held();
    t.shows_error("burnt").await;
    t.look_at_failed().await.exhausted(1);
    t.claim(b).await.lost();
}

pub(super) async fn release_of_a_claim_that_never_began_keeps_the_run_before_it(t: &Trial<'_>) {
    for how in ["failed", "given up"] {
        let t = t.under(t.key_like(how));
        t.lapsed().await;
        let b = call("B").unbegun();
        t.claim(b).await.acquired(2, Found::Lapsed { begun: true });
        match how {
            "failed" => t.release(b, "late").await.held(),
            _ => t.give_up(b).await.held(),
        }
        t.look().await.abandoned(1, "A");
    }
}

pub(super) async fn giving_up_a_claim_that_never_began_counts_no_run(t: &Trial<'_>) {
    let a = call("A").unbegun();
    t.claim(a).await.acquired(1, Found::Absent);
    t.give_up(a).await.held();
    t.claim(a).await.lost();
    t.claim(call("B").hold().max(1)).await.acquired(1, Found::Failed);
}

pub(super) async fn giving_up_a_lapsed_claim_is_held(t: &Trial<'_>) {
    let a = t.lapsed().await;
    t.give_up(a).await.held();
    t.renew(a).await.lost();
    t.look().await.abandoned(1, "A");
}

pub(super) async fn giving_up_repeated_is_held_and_changes_nothing(t: &Trial<'_>) {
    let a = t.given_up().await;
    t.give_up(a).await.held();
    t.release(a, "burnt").await.held();
    t.look().await.abandoned(1, "A");
}

pub(super) async fn a_late_release_leaves_the_next_run_alone(t: &Trial<'_>) {
    let a = t.failed().await;
    let b = call("B");
    t.claim(b).await.acquired(2, Found::Failed);
    t.release(a, "burnt").await.lost();
    t.give_up(a).await.lost();
    t.look().await.in_progress(2, "B");
    t.complete(b).await.held();
    t.release(a, "burnt").await.lost();
    t.claim(b).await.completed(&b.completed(2, super::trial::value(b"1")));
}
