//! Removing records by hand.

use super::list::{listed, these};
use super::trial::{Trial, call, value};
use crate::admin::{Changed, Leases, Seen, Swept};
use crate::store::{CompleteAnswer, Found};

/// What a person has seen of the record, if the store can show it.
async fn seen(t: &Trial<'_>) -> Option<Seen> {
    t.inspect().await.map(|record| record.expect("there is a record").seen())
}

async fn remove(t: &Trial<'_>, seen: Seen, leases: Leases) -> Changed {
    let admin = t.store.admin().expect("what showed a record can remove it");
    match admin.remove(&t.key, seen, leases).await {
        Ok(changed) => changed,
        Err(error) => panic!("a removal of {:?} got no answer: {error}", t.key),
    }
}

pub(super) async fn a_removed_record_is_absent(t: &Trial<'_>) {
    for how in ["lapsed", "lapsed unbegun", "given up", "failed", "completed"] {
        let t = t.under(t.key_like(how));
        match how {
            "lapsed" => drop(t.lapsed().await),
            "lapsed unbegun" => drop(t.lapsed_unbegun().await),
            "given up" => drop(t.given_up().await),
            "failed" => drop(t.failed().await),
            _ => drop(t.completed().await),
        }
        let Some(seen) = seen(&t).await else { return };
        assert_eq!(remove(&t, seen, Leases::Respected).await, Changed::Done, "{how}");
        assert_eq!(t.inspect().await, Some(None), "{how}");
        assert!(listed(&t, these(&t)).await.is_some_and(|listed| !listed.contains_key(t.key.as_str())), "{how}");
        t.claim(call("B").hold()).await.acquired(1, Found::Absent);
    }
}

pub(super) async fn a_removed_record_is_absent_to_its_owner(t: &Trial<'_>) {
    let a = t.lapsed().await;
    let Some(seen) = seen(t).await else { return };
    assert_eq!(remove(t, seen, Leases::Respected).await, Changed::Done);
    t.renew(a).await.lost();
    assert_eq!(t.complete(a).await.0, CompleteAnswer::Absent);
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn remove_leaves_a_live_run_alone(t: &Trial<'_>) {
    let a = t.live().await;
    let Some(seen) = seen(t).await else { return };
    assert_eq!(remove(t, seen, Leases::Respected).await, Changed::Moved);
    t.look().await.in_progress(1, "A");
    t.complete(a).await.held();
}

pub(super) async fn remove_takes_a_live_run_away_by_force(t: &Trial<'_>) {
    let a = t.live().await;
    let Some(seen) = seen(t).await else { return };
    t.renew(a).await.held();
    assert_eq!(remove(t, seen, Leases::Broken).await, Changed::Done);
    t.renew(a).await.lost();
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn remove_leaves_what_moved_since_it_was_seen(t: &Trial<'_>) {
    for how in ["renewed", "completed", "released", "given up", "taken over"] {
        let t = t.under(t.key_like(how));
        let a = t.lapsed_as(t.roomy("A")).await;
        let Some(seen) = seen(&t).await else { return };
        match how {
            "renewed" => t.renew(a).await.held(),
            "completed" => t.complete(a).await.held(),
            "released" => t.release(a, "late").await.held(),
            "given up" => t.give_up(a).await.held(),
            _ => drop(t.claim(call("B")).await.acquired(2, Found::Lapsed { begun: true })),
        }
        assert_eq!(remove(&t, seen, Leases::Respected).await, Changed::Moved, "{how}");
        assert!(t.inspect().await.flatten().is_some(), "{how}");
        // By force it holds for the same claim only, in the same state.
        let forced = if how == "renewed" { Changed::Done } else { Changed::Moved };
        assert_eq!(remove(&t, seen, Leases::Broken).await, forced, "{how}");
    }
}

pub(super) async fn remove_of_absent_has_moved(t: &Trial<'_>) {
    let a = t.live().await;
    t.complete_with(a, &value(b"1"), t.brief_retention()).await.held();
    let Some(Some(record)) = t.inspect().await else { return };
    t.ticks(2.5).await;
    for leases in [Leases::Respected, Leases::Broken] {
        assert_eq!(remove(t, record.seen(), leases).await, Changed::Moved);
    }
    t.claim(call("B")).await.acquired(1, Found::Absent);
}

pub(super) async fn remove_leaves_other_records_alone(t: &Trial<'_>) {
    let other = t.under(t.key_like("other"));
    other.completed().await;
    t.completed().await;
    let Some(seen) = seen(t).await else { return };
    assert_eq!(remove(&other, seen, Leases::Broken).await, Changed::Moved, "what was seen is another record");
    assert_eq!(remove(t, seen, Leases::Respected).await, Changed::Done);
    assert!(other.inspect().await.flatten().is_some());
}

pub(super) async fn a_removal_counts_once(t: &Trial<'_>) {
    t.failed().await;
    let Some(seen) = seen(t).await else { return };
    assert_eq!(remove(t, seen, Leases::Respected).await, Changed::Done);
    assert_eq!(remove(t, seen, Leases::Respected).await, Changed::Moved);
}

pub(super) async fn a_removal_wakes(t: &Trial<'_>) {
    t.lapsed().await;
    let watch = super::watch::ready(t).await;
    let Some(seen) = seen(t).await else { return };
    assert_eq!(remove(t, seen, Leases::Respected).await, Changed::Done);
    if let Some(mut watch) = watch {
        assert!(tokio::time::timeout(super::watch::BOUND, watch.ended()).await.is_ok(), "the watch was not woken");
    }
}

pub(super) async fn a_sweep_removes_nothing_that_stands(t: &Trial<'_>) {
    let Some(admin) = t.store.admin() else { return };
    let lapsed = t.under(t.key_like("lapsed"));
    lapsed.lapsed().await;
    t.completed().await;
    let swept = admin.sweep(1000).await;
    assert!(matches!(swept, Ok(Swept::Removed(_) | Swept::ByItself)), "{swept:?}");
    assert!(t.inspect().await.flatten().is_some() && lapsed.inspect().await.flatten().is_some());
    assert!(admin.check().await.is_ok());
}
