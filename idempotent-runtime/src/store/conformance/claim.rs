//! `claim` on records that are absent, failed, live, or completed. What has lapsed is in `lapsed`.

use super::trial::{Trial, call, value};
use crate::fingerprint::Fingerprint;
use crate::store::Found;

// Absent.

pub(super) async fn claim_of_absent_is_acquired(t: &Trial<'_>) {
    let a = call("A");
    t.claim(a).await.acquired(1, Found::Absent);
    t.look().await.in_progress(1, "A");
}

pub(super) async fn claim_of_absent_ignores_supersede(t: &Trial<'_>) {
    let gone = call("A").completed(1, value(b"1"));
    t.claim(call("B").supersede(&gone)).await.acquired(1, Found::Absent);
}

pub(super) async fn keys_do_not_meet(t: &Trial<'_>) {
    t.live().await;
    t.under(t.key_like("another")).claim(call("B")).await.acquired(1, Found::Absent);
    t.look().await.in_progress(1, "A");
}

// Failed.

pub(super) async fn claim_of_failed_by_its_own_token_is_lost(t: &Trial<'_>) {
    let a = t.failed().await;
    t.claim(a).await.lost();
    t.look_at_failed().await.exhausted(1);
}

pub(super) async fn claim_of_failed_is_acquired_as_the_next_attempt(t: &Trial<'_>) {
    t.failed().await;
    t.claim(call("B")).await.acquired(2, Found::Failed);
    t.look().await.in_progress(2, "B");
}

pub(super) async fn claim_of_failed_takes_the_new_fingerprint(t: &Trial<'_>) {
    let a = call("A").fingerprint(1);
    t.claim(a).await.acquired(1, Found::Absent);
    t.release(a, "burnt").await.held();
    t.claim(call("B").fingerprint(2)).await.acquired(2, Found::Failed);
    t.claim(call("C").fingerprint(1)).await.mismatch();
    t.claim(call("C").fingerprint(2)).await.in_progress(2, "B");
}

pub(super) async fn claim_of_failed_without_an_attempt_left_is_exhausted(t: &Trial<'_>) {
    t.failed().await;
    t.claim(call("B").max(1)).await.exhausted(1);
    t.claim(call("B").max(2)).await.acquired(2, Found::Failed);
}

pub(super) async fn attempts_are_counted_through_failures(t: &Trial<'_>) {
    for attempt in 1..=3 {
        let call = call("A").max(3);
        let found = if attempt == 1 { Found::Absent } else { Found::Failed };
        t.claim(call).await.acquired(attempt, found);
        t.release(call, "burnt").await.held();
    }
    t.claim(call("B").max(3)).await.exhausted(3);
    t.claim(call("B")).await.acquired(4, Found::Failed);
}

// In progress, own token.

pub(super) async fn claim_repeated_is_acquired_again(t: &Trial<'_>) {
    let a = t.live().await;
    t.claim(a).await.acquired(1, Found::Absent);
    t.claim(a).await.acquired(1, Found::Absent);
    t.look().await.in_progress(1, "A");
}

pub(super) async fn claim_repeated_starts_the_lease_again(t: &Trial<'_>) {
    let a = t.live().await;
    t.ticks(2.0).await;
    let before = t.look().await.in_progress(1, "A");
    t.claim(a).await.acquired(1, Found::Absent);
    assert!(t.look().await.in_progress(1, "A") > before);
}

pub(super) async fn claim_repeated_after_a_lapse_is_acquired_again(t: &Trial<'_>) {
    let a = t.lapsed_as(t.brief("A")).await;
    t.claim(a).await.acquired(1, Found::Absent);
    t.complete(a).await.held();
}

pub(super) async fn claim_repeated_after_giving_up_is_lost(t: &Trial<'_>) {
    let a = t.given_up().await;
    t.claim(a).await.lost();
    t.look().await.abandoned(1, "A");
}

pub(super) async fn claim_repeated_finds_the_same_again(t: &Trial<'_>) {
    t.failed().await;
    let b = t.brief("B");
    for _ in 0..3 {
        t.claim(b).await.acquired(2, Found::Failed);
    }
    t.lapse(b).await;
    let c = call("C");
    for _ in 0..3 {
        t.claim(c).await.acquired(3, Found::Lapsed { begun: true });
    }
    t.complete(c).await.held();
    let d = call("D").supersede(&c.completed(3, value(b"1")));
    for _ in 0..3 {
        t.claim(d).await.acquired(4, Found::Completed);
    }
}

pub(super) async fn claim_repeated_as_begun_has_begun(t: &Trial<'_>) {
    // Its call will run without a further word, so the run counts, whatever the first message said.
    let mut a = t.brief("A").unbegun();
    t.claim(a).await.acquired(1, Found::Absent);
    a.0.begun = true;
    t.claim(a).await.acquired(1, Found::Absent);
    t.lapse(a).await;
    t.look().await.abandoned(1, "A");
}

pub(super) async fn claim_repeated_is_not_compared_with_itself(t: &Trial<'_>) {
    // `max_attempts` and `hold` are for what others left behind.
    let a = t.lapsed_as(t.brief("A").hold().max(1)).await;
    t.claim(a).await.acquired(1, Found::Absent);
}

// In progress, another's, live.

pub(super) async fn claim_of_live_is_in_progress(t: &Trial<'_>) {
    t.live().await;
    let remaining = t.claim(call("B")).await.in_progress(1, "A");
    assert!(!remaining.is_zero() && remaining <= super::trial::LONG, "{remaining:?} of {:?}", super::trial::LONG);
    t.claim(call("B").hold().max(1)).await.in_progress(1, "A");
}

pub(super) async fn claim_of_live_with_another_fingerprint_is_a_mismatch(t: &Trial<'_>) {
    t.claim(call("A").fingerprint(1)).await.acquired(1, Found::Absent);
    t.claim(call("B").fingerprint(2)).await.mismatch();
    t.claim(call("B").fingerprint(1)).await.in_progress(1, "A");
}

pub(super) async fn without_a_fingerprint_on_both_sides_live_is_in_progress(t: &Trial<'_>) {
    t.live().await;
    t.claim(call("B").fingerprint(1)).await.in_progress(1, "A");
    let other = t.under(t.key_like("with"));
    other.claim(call("A").fingerprint(1)).await.acquired(1, Found::Absent);
    other.claim(call("B")).await.in_progress(1, "A");
}

pub(super) async fn claim_of_live_ignores_supersede(t: &Trial<'_>) {
    let a = t.live().await;
    t.claim(call("B").supersede(&a.completed(1, value(b"1")))).await.in_progress(1, "A");
}

pub(super) async fn a_refused_claim_changes_nothing(t: &Trial<'_>) {
    let a = t.live().await;
    let b = call("B");
    t.claim(b).await.in_progress(1, "A");
    t.renew(b).await.lost();
    t.complete(b).await.lost();
    t.release(b, "not mine").await.lost();
    t.put_back(b).await.lost();
    t.look().await.in_progress(1, "A");
    t.complete(a).await.held();
}

// Completed.

pub(super) async fn claim_of_completed_is_answered_with_the_record(t: &Trial<'_>) {
    let (_, record) = t.completed().await;
    t.claim(call("B")).await.completed(&record);
    t.claim(call("B").hold().max(1)).await.completed(&record);
}

pub(super) async fn claim_of_completed_by_its_own_token_is_completed(t: &Trial<'_>) {
    let (a, record) = t.completed_as(call("A").fingerprint(1)).await;
    t.claim(a).await.completed(&record);
    // Whatever else it asks for: its run has ended.
    t.claim(a.fingerprint(2)).await.completed(&record);
    t.claim(a.supersede(&record)).await.completed(&record);
}

pub(super) async fn claim_of_completed_with_another_fingerprint_is_a_mismatch(t: &Trial<'_>) {
    let (_, record) = t.completed_as(call("A").fingerprint(1)).await;
    t.claim(call("B").fingerprint(2)).await.mismatch();
    t.claim(call("B").fingerprint(1)).await.completed(&record);
}

pub(super) async fn without_a_fingerprint_on_both_sides_completed_is_completed(t: &Trial<'_>) {
    let (_, record) = t.completed().await;
    t.claim(call("B").fingerprint(1)).await.completed(&record);
    let other = t.under(t.key_like("with"));
    let (_, record) = other.completed_as(call("A").fingerprint(1)).await;
    other.claim(call("B")).await.completed(&record);
}

pub(super) async fn claim_that_supersedes_the_record_is_acquired(t: &Trial<'_>) {
    let (a, record) = t.completed().await;
    let b = call("B").supersede(&record);
    t.claim(b).await.acquired(2, Found::Completed);
    t.look().await.in_progress(2, "B");
    t.complete(a).await.lost();
    t.complete(b).await.held();
    t.look().await.completed(&b.completed(2, value(b"1")));
}

pub(super) async fn claim_that_supersedes_another_record_is_completed(t: &Trial<'_>) {
    let (_, record) = t.completed().await;
    let another = call("X").completed(1, value(b"1"));
    t.claim(call("B").supersede(&another)).await.completed(&record);
}

pub(super) async fn a_record_is_superseded_once(t: &Trial<'_>) {
    let (_, record) = t.completed().await;
    let (b, c) = (call("B").supersede(&record), call("C").supersede(&record));
    t.claim(b).await.acquired(2, Found::Completed);
    t.claim(c).await.in_progress(2, "B");
    t.complete(b).await.held();
    t.claim(c).await.completed(&b.completed(2, value(b"1")));
}

pub(super) async fn claim_that_supersedes_with_another_fingerprint_is_a_mismatch(t: &Trial<'_>) {
    let (_, record) = t.completed_as(call("A").fingerprint(1)).await;
    t.claim(call("B").supersede(&record).fingerprint(2)).await.mismatch();
    t.look().await.completed(&record);
    t.claim(call("B").supersede(&record).fingerprint(1)).await.acquired(2, Found::Completed);
}

// Unreadable.

pub(super) async fn claim_with_a_fingerprint_of_another_version_is_unreadable(t: &Trial<'_>) {
    let of_version = |version: u8| {
        let text = Fingerprint::from_u128(1).text();
        let (_, digest) = text.split_once('.').expect("a fingerprint's text has its version in front");
        Fingerprint::parse(&format!("{version}.{digest}")).expect("a fingerprint of another version is readable")
    };
    let asking = |version| {
        let mut call = call("B");
        call.0.fingerprint = Some(of_version(version));
        call
    };
    let (_, record) = t.completed_as(call("A").fingerprint(1)).await;
    t.claim(asking(Fingerprint::VERSION + 1)).await.unreadable();
    t.claim(asking(Fingerprint::VERSION)).await.completed(&record);
    let live = t.under(t.key_like("live"));
    live.claim(call("A").fingerprint(1)).await.acquired(1, Found::Absent);
    live.claim(asking(Fingerprint::VERSION + 1)).await.unreadable();
    live.claim(asking(Fingerprint::VERSION)).await.in_progress(1, "A");
}

pub(super) async fn unreadable_is_never_claimed(t: &Trial<'_>) {
    t.live().await;
    if t.harness.spoil(&t.key).await {
        t.claim(call("B")).await.unreadable();
        t.look().await.unreadable();
    }
}

pub(super) async fn no_operation_changes_what_is_unreadable(t: &Trial<'_>) {
    let a = t.live().await;
    if t.harness.spoil(&t.key).await {
        t.begin(a).await.lost();
        t.renew(a).await.lost();
        t.complete(a).await.lost();
        t.release(a, "burnt").await.lost();
        t.give_up(a).await.lost();
        t.put_back(a).await.lost();
        t.claim(a).await.unreadable();
    }
}
