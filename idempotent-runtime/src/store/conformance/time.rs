//! Leases and retentions: those that the writer gave, by the store's clock.

use super::trial::{LONG, Trial, call, value};
use crate::store::{Found, Retention};

pub(super) async fn a_reader_judges_by_the_writers_lease(t: &Trial<'_>) {
    // Before and after a deploy that changes the lease.
    t.lapsed().await;
    t.claim(call("B").lease(LONG)).await.acquired(2, Found::Lapsed { begun: true });
    t.ticks(2.5).await;
    t.claim(t.brief("C")).await.in_progress(2, "B");
}

pub(super) async fn a_reader_judges_by_the_writers_retention(t: &Trial<'_>) {
    t.claim(t.brief("A").retention(4 * t.harness.tick())).await.acquired(1, Found::Absent);
    t.ticks(4.5).await;
    t.claim(call("B").retention(3 * LONG)).await.acquired(1, Found::Absent);
    t.ticks(4.5).await;
    t.claim(t.brief("C").retention(4 * t.harness.tick())).await.in_progress(1, "B");
}

pub(super) async fn what_is_left_of_a_lease_shrinks(t: &Trial<'_>) {
    t.live().await;
    let first = t.look().await.in_progress(1, "A");
    t.ticks(2.0).await;
    let second = t.look().await.in_progress(1, "A");
    assert!(second + 2 * t.harness.tick() <= first, "{first:?}, and two ticks later {second:?}");
}

pub(super) async fn a_completed_record_expires_with_its_ttl(t: &Trial<'_>) {
    let a = t.live().await;
    t.complete_with(a, &value(b"1"), Retention::For(10 * t.harness.tick())).await.held();
    t.ticks(5.0).await;
    t.look().await.completed(&a.completed(1, value(b"1")));
    t.ticks(5.5).await;
    t.complete(call("B")).await.absent();
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn a_ttl_counts_from_the_completion(t: &Trial<'_>) {
    // Longer than what was left of the claim's retention.
    let a = t.brief("A").retention(10 * t.harness.tick());
    t.claim(a).await.acquired(1, Found::Absent);
    t.ticks(5.0).await;
    t.complete_with(a, &value(b"1"), Retention::For(LONG)).await.held();
    t.ticks(6.0).await;
    t.look().await.completed(&a.completed(1, value(b"1")));
}

pub(super) async fn a_completed_record_can_be_kept_for_ever(t: &Trial<'_>) {
    let a = t.brief("A").retention(10 * t.harness.tick());
    t.claim(a).await.acquired(1, Found::Absent);
    t.complete_with(a, &value(b"1"), Retention::Forever).await.held();
    t.ticks(11.0).await;
    t.look().await.completed(&a.completed(1, value(b"1")));
    t.complete(a).await.held();
    t.renew(a).await.lost();
    t.look().await.completed(&a.completed(1, value(b"1")));
    // Replaced by one that expires, so that the suite leaves nothing for ever.
    let b = call("B").supersede(&a.completed(1, value(b"1")));
    t.claim(b).await.acquired(2, Found::Completed);
    t.complete_with(b, &value(b"2"), t.brief_retention()).await.held();
    t.ticks(2.5).await;
    t.claim(call("C")).await.acquired(1, Found::Absent);
}

pub(super) async fn a_claim_can_be_kept_for_ever(t: &Trial<'_>) {
    let a = t.brief("A").forever();
    t.claim(a).await.acquired(1, Found::Absent);
    t.claim(call("B")).await.in_progress(1, "A");
    t.lapse(a).await;
    t.look().await.abandoned(1, "A");
    t.renew(a).await.held();
    t.lapse(a).await;
    t.look().await.abandoned(1, "A");
    let b = t.brief("B").forever();
    t.claim(b).await.acquired(2, Found::Lapsed { begun: true });
    t.put_back(b).await.held();
    t.look().await.abandoned(1, "A");
    t.complete_with(a, &value(b"1"), t.brief_retention()).await.held();
    t.ticks(2.5).await;
    t.claim(call("C")).await.acquired(1, Found::Absent);
}

pub(super) async fn a_claim_expires_with_its_retention(t: &Trial<'_>) {
    t.claim(t.brief("A").retention(4 * t.harness.tick())).await.acquired(1, Found::Absent);
    t.ticks(4.5).await;
    t.claim(call("B").hold().max(1)).await.acquired(1, Found::Absent);
}

pub(super) async fn a_failed_record_expires_with_its_retention(t: &Trial<'_>) {
    let a = t.brief("A").retention(10 * t.harness.tick());
    t.claim(a).await.acquired(1, Found::Absent);
    t.ticks(5.0).await;
    t.release(a, "burnt").await.held();
    t.ticks(6.0).await;
    t.look_at_failed().await.exhausted(1);
    t.ticks(4.5).await;
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn a_claim_given_up_expires_with_its_retention(t: &Trial<'_>) {
    let a = t.brief("A").retention(10 * t.harness.tick());
    t.claim(a).await.acquired(1, Found::Absent);
    t.ticks(5.0).await;
    t.give_up(a).await.held();
    t.ticks(6.0).await;
    t.look().await.abandoned(1, "A");
    t.ticks(4.5).await;
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn a_record_put_back_lapsed_outlasts_its_lease(t: &Trial<'_>) {
    let a = t.brief("A").retention(10 * t.harness.tick());
    t.claim(a).await.acquired(1, Found::Absent);
    t.ticks(5.0).await;
    let b = call("B");
    t.claim(b).await.acquired(2, Found::Lapsed { begun: true });
    t.put_back(b).await.held();
    t.look().await.abandoned(1, "A");
    t.ticks(10.5).await;
    t.claim(call("C")).await.acquired(1, Found::Absent);
}

// Runs that are held for longer than anything else.

pub(super) async fn a_run_is_held_beyond_the_retention(t: &Trial<'_>) {
    let a = t.brief("A").retention(4 * t.harness.tick()).held(LONG);
    t.claim(a).await.acquired(1, Found::Absent);
    t.ticks(4.5).await;
    t.look().await.abandoned(1, "A");
    t.renew(a).await.held();
    t.ticks(4.5).await;
    t.look().await.abandoned(1, "A");
    let given_up = t.under(t.key_like("given up"));
    given_up.claim(a).await.acquired(1, Found::Absent);
    given_up.give_up(a).await.held();
    given_up.ticks(4.5).await;
    given_up.look().await.abandoned(1, "A");
}

pub(super) async fn begin_holds_a_run_beyond_the_retention(t: &Trial<'_>) {
    let a = t.roomy("A").unbegun().retention(20 * t.harness.tick()).held(LONG);
    t.claim(a).await.acquired(1, Found::Absent);
    t.begin(a).await.held();
    let remaining = t.look().await.in_progress(1, "A");
    assert!(!remaining.is_zero() && remaining <= a.0.lease, "{remaining:?} of {:?}", a.0.lease);
    if let Some(Some(record)) = t.inspect().await {
        assert!(record.is_live(), "{record:?}");
    }
    t.ticks(20.5).await;
    t.look().await.abandoned(1, "A");
}

pub(super) async fn a_claim_that_never_began_is_not_held(t: &Trial<'_>) {
    let a = t.brief("A").unbegun().retention(4 * t.harness.tick()).held(LONG);
    t.claim(a).await.acquired(1, Found::Absent);
    t.renew(a).await.held();
    t.ticks(4.5).await;
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn a_claim_over_a_held_run_is_held(t: &Trial<'_>) {
    t.lapsed_as(t.brief("A").held(LONG)).await;
    let b = t.brief("B").unbegun().retention(4 * t.harness.tick()).held(LONG);
    t.claim(b).await.acquired(2, Found::Lapsed { begun: true });
    t.ticks(4.5).await;
    t.look().await.abandoned(1, "A");
}

pub(super) async fn a_held_run_that_is_put_back_stays_held(t: &Trial<'_>) {
    let a = t.lapsed_as(t.brief("A").retention(4 * t.harness.tick()).held(LONG)).await;
    let b = call("B");
    t.claim(b).await.acquired(2, Found::Lapsed { begun: true });
    t.put_back(b).await.held();
    t.ticks(4.5).await;
    t.look().await.abandoned(1, "A");
    t.complete_with(a, &value(b"1"), t.brief_retention()).await.held();
}

pub(super) async fn a_failure_is_not_held(t: &Trial<'_>) {
    let a = t.brief("A").retention(4 * t.harness.tick()).held(LONG);
    t.claim(a).await.acquired(1, Found::Absent);
    t.release(a, "burnt").await.held();
    t.ticks(4.5).await;
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn a_failure_that_is_put_back_is_not_held(t: &Trial<'_>) {
    t.failed().await;
    let b = t.brief("B").unbegun().retention(4 * t.harness.tick()).held(LONG);
    t.claim(b).await.acquired(2, Found::Failed);
    t.put_back(b).await.held();
    t.ticks(4.5).await;
    t.claim(call("C")).await.acquired(1, Found::Absent);
}

pub(super) async fn what_a_person_released_is_not_held(t: &Trial<'_>) {
    t.lapsed_as(t.brief("A").retention(4 * t.harness.tick()).held(LONG)).await;
    let (Some(admin), Some(Some(seen))) = (t.store.admin(), t.inspect().await) else { return };
    let release = crate::admin::Change::Release { reason: "looked it up".into() };
    let changed = admin.change(&t.key, &seen, &release).await;
    assert_eq!(changed.expect("the store answers"), crate::admin::Changed::Done);
    t.ticks(4.5).await;
    t.claim(call("B")).await.acquired(1, Found::Absent);
}
