//! Lists: what they show, what they leave out, and where a page ends.

use std::collections::BTreeMap;
use std::time::Duration;

use super::trial::{LONG, Trial, call, value};
use crate::admin::{Admin, Cursor, Listed, Page, Query, Standing};
use crate::key::Key;
use crate::store::Retention;

/// More pages than any list of a case needs: on a server whose other records are looked at too.
const ENOUGH: usize = 20_000;

/// The records of the trial's key, and of those like it.
pub(super) fn these(t: &Trial<'_>) -> Query {
    Query::new().beginning(t.key.entity())
}

async fn page(admin: &dyn Admin, query: &Query) -> Page {
    match admin.list(query).await {
        Ok(page) => page,
        Err(error) => panic!("{query:?} got no answer: {error}"),
    }
}

/// What a query selects, page by page; `None` where the store has no administration.
pub(super) async fn listed(t: &Trial<'_>, query: Query) -> Option<BTreeMap<String, Listed>> {
    let admin = t.store.admin()?;
    let mut all = BTreeMap::new();
    let mut query = query;
    for _ in 0..ENOUGH {
        let page = page(admin, &query).await;
        all.extend(page.records.into_iter().map(|listed| (listed.key.as_str().to_owned(), listed)));
        match page.next {
            Some(next) => query = query.after(next),
            None => return Some(all),
        }
    }
    panic!("{query:?} does not end")
}

/// Exactly these keys are shown.
async fn shows(t: &Trial<'_>, query: Query, keys: &[&Key]) {
    let Some(listed) = listed(t, query.clone()).await else { return };
    let shown: Vec<_> = listed.keys().map(String::as_str).collect();
    let mut expected: Vec<_> = keys.iter().map(|key| key.as_str()).collect();
    expected.sort_unstable();
    assert_eq!(shown, expected, "{query:?}");
}

/// Completes some records like the trial's.
async fn completed(t: &Trial<'_>, number: usize) -> Vec<Key> {
    let mut keys = Vec::new();
    for at in 0..number {
        let other = t.under(t.key_like(&at.to_string()));
        other.completed().await;
        keys.push(other.key);
    }
    keys
}

pub(super) async fn list_shows_every_record_page_by_page(t: &Trial<'_>) {
    t.completed().await;
    let mut keys = completed(t, 6).await;
    keys.push(t.key.clone());
    let keys: Vec<&Key> = keys.iter().collect();
    for size in [1, 2, 7, 1000] {
        shows(t, these(t).page(size), &keys).await;
    }
}

pub(super) async fn list_shows_what_inspect_shows(t: &Trial<'_>) {
    let [live, lapsed, given_up, failed, completed] =
        ["live", "lapsed", "given up", "failed", "completed"].map(|tail| t.under(t.key_like(tail)));
    live.claim(call("A").fingerprint(5).unbegun()).await.acquired(1, crate::store::Found::Absent);
    lapsed.lapsed_as(t.brief("B").fingerprint(6)).await;
    given_up.given_up().await;
    failed.failed().await;
    completed.completed_as(call("C").fingerprint(7)).await;
    let Some(shown) = listed(t, these(t)).await else { return };
    assert_eq!(shown.len(), 5, "{shown:#?}");
    for (t, standing) in [
        (&live, Standing::InProgress),
        (&lapsed, Standing::Abandoned),
        (&given_up, Standing::Abandoned),
        (&failed, Standing::Failed),
        (&completed, Standing::Completed),
    ] {
        let listed = &shown[t.key.as_str()];
        assert_eq!((&listed.key, listed.key.step(), listed.standing()), (&t.key, t.key.step(), standing));
        let summary = listed.record.as_ref().expect("it can be read");
        let inspected = t.inspect().await.flatten().expect("there is a record");
        assert_eq!(summary.seen(), inspected.seen());
        assert_eq!((&summary.owner, summary.fingerprint), (&inspected.owner, inspected.fingerprint));
        if let crate::admin::State::Failed { last_error } = &summary.state {
            assert_eq!(**last_error, *"burnt");
        }
    }
}

pub(super) async fn list_selects_by_state(t: &Trial<'_>) {
    let [live, lapsed, failed, completed] =
        ["live", "lapsed", "failed", "completed"].map(|tail| t.under(t.key_like(tail)));
    live.live().await;
    lapsed.lapsed().await;
    failed.failed().await;
    completed.completed().await;
    shows(t, these(t).standing(Standing::InProgress), &[&live.key]).await;
    shows(t, these(t).standing(Standing::Abandoned), &[&lapsed.key]).await;
    shows(t, these(t).standing(Standing::Failed), &[&failed.key]).await;
    shows(t, these(t).standing(Standing::Completed), &[&completed.key]).await;
    shows(t, these(t).standing(Standing::Unreadable), &[]).await;
    let ended = these(t).standing(Standing::Failed).standing(Standing::Completed);
    shows(t, ended, &[&failed.key, &completed.key]).await;
}

pub(super) async fn list_selects_by_silence(t: &Trial<'_>) {
    let [old, renewed, failed] = ["old", "renewed", "failed"].map(|tail| t.under(t.key_like(tail)));
    failed.failed().await;
    old.live().await;
    let a = renewed.live().await;
    t.ticks(4.0).await;
    renewed.renew(a).await.held();
    shows(t, these(t).silent_for(4 * t.harness.tick()), &[&old.key]).await;
    shows(t, these(t).silent_for(LONG), &[]).await;
}

pub(super) async fn list_selects_by_what_is_left(t: &Trial<'_>) {
    let [soon, later, never] = ["soon", "later", "never"].map(|tail| t.under(t.key_like(tail)));
    for (t, kept) in [(&soon, Retention::For(LONG)), (&later, Retention::For(10 * LONG)), (&never, Retention::Forever)]
    {
        let a = t.live().await;
        t.complete_with(a, &value(b"1"), kept).await.held();
    }
    shows(t, these(t).expires_within(2 * LONG), &[&soon.key]).await;
    shows(t, these(t).expires_within(20 * LONG), &[&soon.key, &later.key]).await;
    shows(t, these(t).expires_within(Duration::ZERO), &[]).await;
}

pub(super) async fn list_takes_the_beginning_of_keys_as_text(t: &Trial<'_>) {
    let tails = ["a*:1", "ab:1", "a?:1", "a[b]:1", "a\\b:1", "a%:1", "a_:1", "a^:1", "A*:1", "a'b:1", "é:1"];
    let keys = tails.map(|tail| t.key_ending(tail));
    for key in &keys {
        t.under(key.clone()).completed().await;
    }
    for (tail, key) in tails.iter().zip(&keys) {
        let beginning = format!("{}:{}", t.key.entity(), &tail[..tail.len() - 1]);
        shows(t, Query::new().beginning(&beginning), &[key]).await;
    }
    shows(t, Query::new().beginning(&format!("{}:", t.key.entity())), &keys.each_ref()).await;
}

pub(super) async fn a_prefix_is_not_the_beginning_of_another_name(t: &Trial<'_>) {
    let [order, consume, orders, none] =
        ["order:1", "order:consume:1", "orders:1", "order"].map(|tail| t.key_ending(tail));
    for key in [&order, &consume, &orders, &none] {
        t.under(key.clone()).completed().await;
    }
    let prefix = |name: &str| Query::new().prefix(&format!("{}:{name}", t.key.entity()));
    shows(t, prefix("order"), &[&order, &consume]).await;
    shows(t, prefix("orders"), &[&orders]).await;
    shows(t, prefix("ord"), &[]).await;
}

pub(super) async fn list_shows_no_expired_record(t: &Trial<'_>) {
    let brief = t.under(t.key_like("brief"));
    t.completed().await;
    let a = brief.live().await;
    brief.complete_with(a, &value(b"1"), t.brief_retention()).await.held();
    t.ticks(2.5).await;
    shows(t, these(t), &[&t.key]).await;
}

pub(super) async fn list_misses_nothing_while_records_come_and_go(t: &Trial<'_>) {
    let Some(admin) = t.store.admin() else { return };
    let (staying, going) = (completed(t, 5).await, completed(t, 5).await);
    let mut shown = Vec::new();
    let mut query = these(t).page(2);
    for turn in 0..ENOUGH {
        let page = page(admin, &query).await;
        shown.extend(page.records.into_iter().map(|listed| listed.key));
        if let Some(key) = going.get(turn) {
            let gone = t.under(key.clone());
            let seen = gone.inspect().await.flatten().expect("there is a record").seen();
            admin.remove(key, seen, crate::admin::Leases::Respected).await.expect("the store answers");
            t.under(t.key_like(&format!("new {turn}"))).live().await;
        }
        match page.next {
            Some(next) => query = query.after(next),
            None => break,
        }
    }
    let missed: Vec<_> = staying.iter().filter(|key| !shown.contains(key)).collect();
    assert!(missed.is_empty(), "{missed:?} stood all the while");
}

pub(super) async fn list_says_what_is_unreadable(t: &Trial<'_>) {
    t.live().await;
    let sound = t.under(t.key_like("sound"));
    sound.completed().await;
    if !t.harness.spoil(&t.key).await {
        return;
    }
    let Some(listed) = listed(t, these(t)).await else { return };
    assert_eq!(listed[sound.key.as_str()].standing(), Standing::Completed);
    // A field of an entity that is no step is the application's own.
    let spoiled = listed.get(t.key.as_str()).map(Listed::standing);
    assert!(spoiled == Some(Standing::Unreadable) || (spoiled.is_none() && t.key.step().is_some()), "{spoiled:?}");
}

pub(super) async fn list_shows_no_large_result(t: &Trial<'_>) {
    let a = t.live().await;
    let large = "ä€𝄞".repeat(20_000);
    t.complete_with(a, &value(large.as_bytes()), Retention::For(LONG)).await.held();
    let b = t.under(t.key_like("failed"));
    let failing = b.live().await;
    b.release(failing, &large).await.held();
    let Some(listed) = listed(t, these(t)).await else { return };
    assert_eq!(listed[t.key.as_str()].standing(), Standing::Completed);
    let failed = &listed[b.key.as_str()];
    match failed.record.as_ref().map(|record| &record.state) {
        // Its beginning, or all of it.
        Ok(crate::admin::State::Failed { last_error }) => {
            assert!(last_error.len() > 100 && large.starts_with(&**last_error), "{last_error}");
        }
        other => panic!("expected a failure; got {other:?}"),
    }
}

pub(super) async fn list_refuses_a_place_that_is_none(t: &Trial<'_>) {
    t.completed().await;
    if let Some(admin) = t.store.admin() {
        let nowhere = these(t).after(Cursor::new("nowhere"));
        assert!(admin.list(&nowhere).await.is_err());
    }
}
