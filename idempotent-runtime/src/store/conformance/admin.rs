//! Administration, where the store has one: looking changes nothing, and a change holds only for what was looked at.

use std::time::Duration;

use super::trial::{Call, LONG, Trial, call, value};
use crate::admin::{Change, Changed, Inspected, State};
use crate::store::{ClaimAnswer, Found, Retention};

const BEGUN: Found = Found::Lapsed { begun: true };

fn resolve(kept: Retention) -> Change {
    Change::Resolve { result: value(b"resolved"), retention: kept }
}

fn release() -> Change {
    Change::Release { reason: "looked it up".into() }
}

fn allow_one_more() -> Change {
    Change::AllowOneMore { reason: "mended".into() }
}

/// The record, if the store can show it.
async fn seen(t: &Trial<'_>) -> Option<Inspected> {
    t.inspect().await.map(|record| record.expect("there is a record"))
}

async fn change(t: &Trial<'_>, seen: &Inspected, change: &Change) -> Changed {
    let admin = t.store.admin().expect("what showed a record can change it");
    match admin.change(&t.key, seen, change).await {
        Ok(changed) => changed,
        Err(error) => panic!("a change of {:?} got no answer: {error}", t.key),
    }
}

// Looking.

pub(super) async fn inspect_of_absent_shows_none(t: &Trial<'_>) {
    if let Some(record) = t.inspect().await {
        assert_eq!(record, None);
        t.claim(call("A")).await.acquired(1, Found::Absent);
    }
}

pub(super) async fn inspect_of_an_expired_record_shows_none(t: &Trial<'_>) {
    let a = t.live().await;
    t.complete_with(a, &value(b"1"), t.brief_retention()).await.held();
    t.ticks(2.5).await;
    assert!(matches!(t.inspect().await, None | Some(None)));
}

pub(super) async fn inspect_shows_a_live_claim(t: &Trial<'_>) {
    let a = call("A").fingerprint(5).unbegun();
    t.claim(a).await.acquired(1, Found::Absent);
    shows(t, a, 1, |remaining| !remaining.is_zero() && remaining <= LONG, (false, false)).await;
    t.begin(a).await.held();
    shows(t, a, 1, |remaining| !remaining.is_zero() && remaining <= LONG, (true, false)).await;
    t.look().await.in_progress(1, "A");
}

pub(super) async fn inspect_shows_a_lapsed_claim(t: &Trial<'_>) {
    let a = t.lapsed().await;
    shows(t, a, 1, |remaining| remaining.is_zero(), (true, false)).await;
    t.look().await.abandoned(1, "A");
}

pub(super) async fn inspect_shows_a_claim_given_up(t: &Trial<'_>) {
    let a = t.given_up().await;
    shows(t, a, 1, |remaining| remaining.is_zero(), (true, true)).await;
    t.look().await.abandoned(1, "A");
}

/// A claim of `call` is shown, begun and given up as said.
async fn shows(t: &Trial<'_>, of: Call, attempt: u32, is_left: fn(Duration) -> bool, marks: (bool, bool)) {
    let Some(record) = seen(t).await else { return };
    assert_eq!((record.token, record.attempt, &*record.owner), (of.0.token, attempt, of.0.owner));
    assert_eq!(record.fingerprint, of.0.fingerprint);
    assert!(matches!(record.expires_in, Retention::For(left) if left <= 3 * LONG), "{record:?}");
    match record.state {
        State::InProgress { remaining, silent_for, lease, begun, given_up } => {
            assert!(is_left(remaining), "{remaining:?} of its lease is left");
            // One that was given up may be shown as silent since then.
            assert!(given_up || silent_for >= lease.saturating_sub(remaining), "silent for {silent_for:?} only");
            assert!(remaining.is_zero() || silent_for + remaining <= lease, "silent for {silent_for:?}");
            assert_eq!((lease, (begun, given_up)), (of.0.lease, marks));
        }
        other => panic!("expected a claim in progress; got {other:?}"),
    }
}

pub(super) async fn inspect_shows_a_failure(t: &Trial<'_>) {
    let a = t.failed().await;
    if let Some(record) = seen(t).await {
        assert_eq!((record.token, record.attempt), (a.0.token, 1));
        assert_eq!(record.state, State::Failed { last_error: "burnt".into() });
        t.look_at_failed().await.exhausted(1);
    }
}

pub(super) async fn inspect_shows_a_result(t: &Trial<'_>) {
    let (a, completed) = t.completed_as(call("A").fingerprint(5)).await;
    if let Some(record) = seen(t).await {
        assert_eq!((record.token, record.attempt, record.fingerprint), (a.0.token, 1, a.0.fingerprint));
        assert_eq!(record.state, State::Completed(value(b"1")));
        assert!(matches!(record.expires_in, Retention::For(left) if left <= LONG), "{record:?}");
        t.look().await.completed(&completed);
    }
}

pub(super) async fn inspect_of_unreadable_is_an_error(t: &Trial<'_>) {
    t.live().await;
    if let Some(admin) = t.store.admin()
        && t.harness.spoil(&t.key).await
    {
        assert!(admin.inspect(&t.key).await.is_err());
    }
}

// Changing.

pub(super) async fn a_person_resolves_a_lapsed_claim(t: &Trial<'_>) {
    let a = t.lapsed_as(t.brief("A").fingerprint(5)).await;
    let Some(record) = seen(t).await else { return };
    assert_eq!(change(t, &record, &resolve(Retention::For(LONG))).await, Changed::Done);
    t.look().await.completed(&a.completed(1, value(b"resolved")));
    t.claim(call("B").fingerprint(6)).await.mismatch();
    t.renew(a).await.lost();
}

pub(super) async fn a_person_resolves_a_claim_given_up(t: &Trial<'_>) {
    let a = t.given_up().await;
    let Some(record) = seen(t).await else { return };
    assert_eq!(change(t, &record, &resolve(Retention::For(LONG))).await, Changed::Done);
    t.look().await.completed(&a.completed(1, value(b"resolved")));
}

pub(super) async fn what_a_person_resolved_expires_with_its_ttl(t: &Trial<'_>) {
    t.given_up().await;
    let Some(record) = seen(t).await else { return };
    assert_eq!(change(t, &record, &resolve(t.brief_retention())).await, Changed::Done);
    t.ticks(2.5).await;
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn a_person_releases_a_lapsed_claim(t: &Trial<'_>) {
    let a = t.lapsed().await;
    let Some(record) = seen(t).await else { return };
    assert_eq!(change(t, &record, &release()).await, Changed::Done);
    t.shows_error("looked it up").await;
    // The one that stood there can do nothing more.
    t.renew(a).await.lost();
    t.complete(a).await.lost();
    t.put_back(a).await.lost();
    t.claim(call("B").hold()).await.acquired(2, Found::Failed);
}

pub(super) async fn a_person_releases_a_claim_that_never_began(t: &Trial<'_>) {
    for (change_to, attempts) in [(release(), 1), (allow_one_more(), 0)] {
        let t = t.under(t.key_like(&attempts.to_string()));
        t.failed().await;
        let b = t.brief("B").unbegun();
        t.claim(b).await.acquired(2, Found::Failed);
        t.lapse(b).await;
        let Some(record) = seen(&t).await else { return };
        assert_eq!(change(&t, &record, &change_to).await, Changed::Done);
        t.claim(call("C")).await.acquired(attempts + 1, Found::Failed);
    }
}

pub(super) async fn a_person_releases_a_failure(t: &Trial<'_>) {
    t.failed().await;
    let Some(record) = seen(t).await else { return };
    assert_eq!(change(t, &record, &release()).await, Changed::Done);
    t.shows_error("looked it up").await;
    t.look_at_failed().await.exhausted(1);
}

pub(super) async fn a_person_releases_a_result_for_a_second_run(t: &Trial<'_>) {
    t.completed().await;
    let Some(record) = seen(t).await else { return };
    assert_eq!(change(t, &record, &release()).await, Changed::Done);
    t.claim(call("B")).await.acquired(2, Found::Failed);
}

pub(super) async fn a_person_allows_one_more_attempt(t: &Trial<'_>) {
    t.failed().await;
    t.claim(call("B").max(1)).await.exhausted(1);
    let Some(record) = seen(t).await else { return };
    assert_eq!(change(t, &record, &allow_one_more()).await, Changed::Done);
    t.shows_error("mended").await;
    t.claim(call("B").max(1)).await.acquired(1, Found::Failed);
}

pub(super) async fn a_person_allows_one_more_attempt_after_a_crash(t: &Trial<'_>) {
    t.lapsed().await;
    t.claim(call("B").max(1).hold()).await.exhausted(1);
    let Some(record) = seen(t).await else { return };
    assert_eq!(change(t, &record, &allow_one_more()).await, Changed::Done);
    t.claim(call("B").max(1).hold()).await.acquired(1, Found::Failed);
}

pub(super) async fn nothing_of_a_live_run_is_changed(t: &Trial<'_>) {
    let a = t.live().await;
    let Some(record) = seen(t).await else { return };
    for every in [resolve(Retention::For(LONG)), release(), allow_one_more()] {
        assert_eq!(change(t, &record, &every).await, Changed::Moved);
    }
    t.look().await.in_progress(1, "A");
    t.complete(a).await.held();
}

pub(super) async fn nothing_is_changed_that_moved_since_it_was_seen(t: &Trial<'_>) {
    for how in ["completed", "released", "given up", "put back", "taken over"] {
        let t = t.under(t.key_like(how));
        let a = t.lapsed().await;
        let Some(record) = seen(&t).await else { return };
        match how {
            "completed" => t.complete(a).await.held(),
            "released" => t.release(a, "late").await.held(),
            "given up" => t.give_up(a).await.held(),
            "put back" => t.put_back(a).await.held(),
            _ => drop(t.claim(call("B")).await.acquired(2, BEGUN)),
        }
        let before = seen(&t).await.expect("there is a record");
        for every in [resolve(Retention::For(LONG)), release(), allow_one_more()] {
            assert_eq!(change(&t, &record, &every).await, Changed::Moved, "{how}");
        }
        let after = seen(&t).await.expect("there is a record");
        assert_eq!((before.token, before.attempt), (after.token, after.attempt), "{how}");
        assert_eq!(std::mem::discriminant(&before.state), std::mem::discriminant(&after.state), "{how}");
    }
}

pub(super) async fn nothing_is_changed_where_the_record_is_gone(t: &Trial<'_>) {
    let a = t.live().await;
    t.complete_with(a, &value(b"1"), t.brief_retention()).await.held();
    let Ok(Some(record)) = t.inspect().await.ok_or(()) else { return };
    t.ticks(2.5).await;
    for every in [resolve(Retention::For(LONG)), release(), allow_one_more()] {
        assert_eq!(change(t, &record, &every).await, Changed::Moved);
    }
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn a_decision_counts_once(t: &Trial<'_>) {
    t.lapsed().await;
    let Some(record) = seen(t).await else { return };
    assert_eq!(change(t, &record, &release()).await, Changed::Done);
    assert_eq!(change(t, &record, &resolve(Retention::For(LONG))).await, Changed::Moved);
    assert!(matches!(t.look_at_failed().await.0, ClaimAnswer::Exhausted { attempt: 1 }));
}

pub(super) async fn a_decision_wakes(t: &Trial<'_>) {
    t.lapsed().await;
    let watch = super::watch::ready(t).await;
    let Some(record) = seen(t).await else { return };
    assert_eq!(change(t, &record, &resolve(Retention::For(LONG))).await, Changed::Done);
    if let Some(mut watch) = watch {
        assert!(tokio::time::timeout(super::watch::BOUND, watch.ended()).await.is_ok(), "the watch was not woken");
    }
}
