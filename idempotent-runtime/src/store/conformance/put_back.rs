//! `put_back`: each state that a claim can have found, and each that it can meet.

use super::trial::{Trial, call, value};
use crate::store::{Found, Retention};

const BEGUN: Found = Found::Lapsed { begun: true };
const NOT_BEGUN: Found = Found::Lapsed { begun: false };

// What was found.

pub(super) async fn put_back_to_absent_counts_no_attempt(t: &Trial<'_>) {
    let a = t.live().await;
    t.put_back(a).await.held();
    t.claim(a).await.lost();
    t.claim(call("B").hold().max(1)).await.acquired(1, Found::Failed);
}

pub(super) async fn put_back_to_absent_is_remembered_for_two_leases(t: &Trial<'_>) {
    let a = t.roomy("A");
    t.claim(a).await.acquired(1, Found::Absent);
    t.put_back(a).await.held();
    t.ticks(12.0).await;
    t.claim(a).await.lost();
    t.ticks(8.5).await;
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn put_back_to_failed_keeps_attempt_and_error(t: &Trial<'_>) {
    t.failed().await;
    let b = call("B");
    t.claim(b).await.acquired(2, Found::Failed);
    t.put_back(b).await.held();
    t.look_at_failed().await.exhausted(1);
    t.shows_error("burnt").await;
    t.claim(b).await.lost();
    t.claim(call("C")).await.acquired(2, Found::Failed);
}

pub(super) async fn put_back_to_lapsed_is_lapsed_again(t: &Trial<'_>) {
    t.lapsed().await;
    let b = call("B").fingerprint(1);
    t.claim(b).await.acquired(2, BEGUN);
    t.put_back(b).await.held();
    t.claim(call("C").hold()).await.abandoned(1, "A");
    t.claim(call("C").max(1)).await.exhausted(1);
    t.claim(call("C").fingerprint(2)).await.acquired(2, BEGUN);
}

pub(super) async fn put_back_to_lapsed_leaves_it_to_its_owner(t: &Trial<'_>) {
    // `A` was only slow. It can still renew, and complete, as if `B` had never been.
    let a = t.lapsed().await;
    let b = call("B");
    t.claim(b).await.acquired(2, BEGUN);
    t.renew(a).await.lost();
    t.put_back(b).await.held();
    t.renew(a).await.held();
    t.complete(a).await.held();
    t.look().await.completed(&a.completed(1, value(b"1")));
}

pub(super) async fn put_back_to_lapsed_keeps_that_it_had_not_begun(t: &Trial<'_>) {
    t.lapsed_unbegun().await;
    let b = call("B");
    t.claim(b).await.acquired(1, NOT_BEGUN);
    t.put_back(b).await.held();
    t.claim(call("C").hold().max(1)).await.acquired(1, NOT_BEGUN);
}

pub(super) async fn put_back_to_given_up_is_given_up_again(t: &Trial<'_>) {
    let a = t.given_up().await;
    let b = call("B");
    t.claim(b).await.acquired(2, BEGUN);
    t.put_back(b).await.held();
    t.look().await.abandoned(1, "A");
    t.renew(a).await.lost();
    t.complete(a).await.lost();
}

pub(super) async fn put_back_to_completed_restores_the_record(t: &Trial<'_>) {
    let (_, record) = t.completed_as(call("A").fingerprint(1)).await;
    let b = call("B").supersede(&record);
    t.claim(b).await.acquired(2, Found::Completed);
    t.put_back_to(b, Some(&record)).await.held();
    t.look().await.completed(&record);
    t.claim(call("C").fingerprint(2)).await.mismatch();
}

pub(super) async fn put_back_to_completed_keeps_it_for_the_time_given(t: &Trial<'_>) {
    let (_, record) = t.completed().await;
    let b = call("B").supersede(&record);
    t.claim(b).await.acquired(2, Found::Completed);
    let restored = t.store.put_back(&t.key, b.0.token, b.0.lease, Some((&record, t.brief_retention()))).await;
    assert_eq!(restored.expect("the store answers"), crate::store::Answer::Held);
    t.ticks(2.5).await;
    t.claim(call("C")).await.acquired(1, Found::Absent);
}

pub(super) async fn put_back_without_the_record_it_replaced_counts_no_attempt(t: &Trial<'_>) {
    let (_, record) = t.completed().await;
    let b = call("B").supersede(&record);
    t.claim(b).await.acquired(2, Found::Completed);
    t.put_back(b).await.held();
    t.look_at_failed().await.exhausted(1);
    t.claim(b).await.lost();
    t.claim(call("C")).await.acquired(2, Found::Failed);
}

pub(super) async fn put_back_restores_no_record_that_the_claim_had_not_replaced(t: &Trial<'_>) {
    let a = t.live().await;
    let other = call("X").completed(9, value(b"9"));
    t.put_back_to(a, Some(&other)).await.held();
    t.claim(call("B")).await.acquired(1, Found::Failed);
}

pub(super) async fn put_back_twice_over_ends_without_an_attempt(t: &Trial<'_>) {
    // `A` lapsed before it began, `B` took over and put back, and now `A` puts back too.
    let a = t.lapsed_unbegun().await;
    let b = call("B");
    t.claim(b).await.acquired(1, NOT_BEGUN);
    t.put_back(b).await.held();
    t.put_back(a).await.held();
    t.claim(a).await.lost();
    t.claim(call("C").hold().max(1)).await.acquired(1, Found::Failed);
}

pub(super) async fn put_back_three_times_over_ends_without_an_attempt(t: &Trial<'_>) {
    t.lapsed_unbegun().await;
    let (b, c) = (t.brief("B").unbegun(), call("C"));
    t.claim(b).await.acquired(1, NOT_BEGUN);
    t.lapse(b).await;
    t.claim(c).await.acquired(1, NOT_BEGUN);
    t.put_back(c).await.held();
    t.put_back(b).await.held();
    t.claim(call("D").hold().max(1)).await.acquired(1, Found::Failed);
}

pub(super) async fn put_back_with_nothing_to_restore_leaves_the_run_below_open(t: &Trial<'_>) {
    // `A`'s run stopped half way. `B` took over, was taken over by `C`, who put back, and now puts back too: what it had
    // found is not kept any more, but nobody knows yet what `A` did.
    t.lapsed().await;
    let (b, c) = (t.brief("B"), call("C"));
    t.claim(b).await.acquired(2, BEGUN);
    t.lapse(b).await;
    t.claim(c).await.acquired(3, BEGUN);
    t.put_back(c).await.held();
    t.put_back(b).await.held();
    t.look().await.abandoned(1, "B");
    t.claim(call("D").max(1)).await.exhausted(1);
    t.claim(b).await.lost();
    t.renew(b).await.lost();
    t.complete(b).await.lost();
    t.put_back(b).await.lost();
    t.claim(call("D")).await.acquired(2, BEGUN);
}

pub(super) async fn put_back_with_nothing_to_restore_remembers_the_attempts(t: &Trial<'_>) {
    t.failed().await;
    let (b, c) = (t.brief("B").unbegun().retention(20 * t.harness.tick()), call("C"));
    t.claim(b).await.acquired(2, Found::Failed);
    t.lapse(b).await;
    t.claim(c).await.acquired(2, NOT_BEGUN);
    t.put_back(c).await.held();
    t.put_back(b).await.held();
    // Longer than two leases, which is all that a record without a run is kept for.
    t.ticks(8.0).await;
    t.claim(b).await.lost();
    t.look_at_failed().await.exhausted(1);
    t.ticks(12.5).await;
    t.claim(call("D").max(1)).await.acquired(1, Found::Absent);
}

// What it meets.

pub(super) async fn put_back_of_a_lapsed_claim_is_held(t: &Trial<'_>) {
    let a = t.lapsed().await;
    t.put_back(a).await.held();
    t.claim(call("B").hold().max(1)).await.acquired(1, Found::Failed);
}

pub(super) async fn put_back_of_a_claim_that_has_begun_counts_no_attempt(t: &Trial<'_>) {
    // `begin` was answered, and the deadline passed before the first poll.
    t.failed().await;
    let b = call("B").unbegun();
    t.claim(b).await.acquired(2, Found::Failed);
    t.begin(b).await.held();
    t.put_back(b).await.held();
    t.look_at_failed().await.exhausted(1);
}

pub(super) async fn put_back_repeated_changes_nothing(t: &Trial<'_>) {
    let a = t.live().await;
    t.put_back(a).await.held();
    t.put_back(a).await.lost();
    t.claim(a).await.lost();
    let (b, c) = (t.brief("B"), call("C"));
    t.claim(b).await.acquired(1, Found::Failed);
    t.lapse(b).await;
    t.claim(c).await.acquired(2, BEGUN);
    t.put_back(c).await.held();
    t.put_back(c).await.lost();
    t.look().await.abandoned(1, "B");
}

pub(super) async fn put_back_of_a_claim_given_up_is_lost(t: &Trial<'_>) {
    let a = t.given_up().await;
    t.put_back(a).await.lost();
    t.look().await.abandoned(1, "A");
}

pub(super) async fn put_back_of_anothers_claim_is_lost(t: &Trial<'_>) {
    t.live().await;
    t.put_back(call("B")).await.lost();
    t.look().await.in_progress(1, "A");
}

pub(super) async fn put_back_of_anothers_lapsed_claim_is_lost(t: &Trial<'_>) {
    t.lapsed().await;
    t.put_back(call("B")).await.lost();
    t.look().await.abandoned(1, "A");
}

pub(super) async fn put_back_of_failed_is_lost(t: &Trial<'_>) {
    let a = t.failed().await;
    t.put_back(a).await.lost();
    t.put_back(call("B")).await.lost();
    t.look_at_failed().await.exhausted(1);
}

pub(super) async fn put_back_of_completed_is_lost(t: &Trial<'_>) {
    let (a, record) = t.completed().await;
    t.put_back(a).await.lost();
    t.put_back(call("B")).await.lost();
    t.put_back_to(a, Some(&call("X").completed(9, value(b"9")))).await.lost();
    t.look().await.completed(&record);
}

pub(super) async fn put_back_of_absent_keeps_its_own_late_claim_from_coming_alive(t: &Trial<'_>) {
    let a = call("A");
    t.put_back(a).await.held();
    t.claim(a).await.lost();
    t.claim(call("B").hold().max(1)).await.acquired(1, Found::Failed);
}

pub(super) async fn put_back_of_absent_restores_nothing(t: &Trial<'_>) {
    let a = call("A");
    t.put_back_to(a, Some(&call("X").completed(9, value(b"9")))).await.held();
    t.claim(call("B")).await.acquired(1, Found::Failed);
}

pub(super) async fn put_back_of_a_claim_taken_over_is_lost(t: &Trial<'_>) {
    let a = t.lapsed().await;
    let b = call("B");
    t.claim(b).await.acquired(2, BEGUN);
    t.put_back(a).await.lost();
    t.complete_with(b, &value(b"1"), Retention::For(super::trial::LONG)).await.held();
    t.put_back(a).await.lost();
    t.look().await.completed(&b.completed(2, value(b"1")));
}
