//! The first page: what waits for somebody first, then what is in progress, then what the handlers do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use super::page::{Base, News, page, problem, time};
use super::records::table;
use super::tally::{Count, Handler};
use super::{Desk, Tally};
use crate::admin::{Listed, Query, Standing, State as Of};
use crate::error::Error;

/// How many records of each kind are shown.
const SHOWN: usize = 50;

/// For how long the store is asked, at the most: a page of a person who waits, not a report.
const PATIENCE: Duration = Duration::from_secs(2);

/// Outcomes that were duplicates.
const CAUGHT: [&str; 6] = ["replayed", "skipped", "duplicate", "busy", "lost", "existing"];

/// Records that are to be shown, and whether all were looked at.
struct Found {
    abandoned: Vec<Listed>,
    in_progress: Vec<Listed>,
    looked_at_all: bool,
}

pub(super) async fn now(State(desk): State<Arc<Desk>>, base: Base) -> Response {
    match whole(&desk, &base).await {
        Ok(main) => page(&desk, &base, "Now", News::Live, &main).into_response(),
        Err(error) => problem(&desk, &base, &error),
    }
}

async fn whole(desk: &Desk, base: &Base) -> Result<Markup, Error> {
    let Found { mut abandoned, mut in_progress, looked_at_all } = look(desk).await?;
    for records in [&mut abandoned, &mut in_progress] {
        records.sort_by_key(|listed| std::cmp::Reverse(silence(listed)));
        records.truncate(SHOWN);
    }
    let partly = html! {
        @if !looked_at_all {
            p.note { "There are more records than could be looked at in " (time(PATIENCE)) ": these are some of them." }
        }
    };
    Ok(html! {
        section aria-labelledby="waiting" {
            h2 id="waiting" { "Waits for somebody" }
            p { "A run stopped half way. Under " code { "on_crash = hold" } " nothing runs until somebody decides; else the \
                 next call takes it over." }
            (table(base, &abandoned, "Nothing waits."))
            (partly)
        }
        section aria-labelledby="running" {
            h2 id="running" { "In progress" }
            (table(base, &in_progress, "Nothing runs."))
        }
        @if let Some(tally) = desk.idempotency.core().tally.get() { (handlers(tally)) }
    })
}

async fn look(desk: &Desk) -> Result<Found, Error> {
    let query = Query::new().standing(Standing::Abandoned).standing(Standing::InProgress).page(1000);
    let mut scan = desk.idempotency.scan(&query);
    let began = Instant::now();
    let (mut abandoned, mut in_progress) = (Vec::new(), Vec::new());
    while let Some(records) = scan.next().await? {
        for listed in records.records {
            match listed.standing() {
                Standing::Abandoned => abandoned.push(listed),
                _ => in_progress.push(listed),
            }
        }
        if began.elapsed() > PATIENCE {
            return Ok(Found { abandoned, in_progress, looked_at_all: false });
        }
    }
    Ok(Found { abandoned, in_progress, looked_at_all: true })
}

fn silence(listed: &Listed) -> Duration {
    match listed.record.as_ref().map(|record| &record.state) {
        Ok(Of::InProgress { silent_for, .. }) => *silent_for,
        _ => Duration::ZERO,
    }
}

/// What the handlers of this process do.
fn handlers(tally: &Tally) -> Markup {
    let (mut handlers, slot) = tally.read();
    let annotated = annotated();
    for prefix in annotated.keys() {
        handlers.entry(Arc::clone(prefix)).or_default();
    }
    let caught = |handler: &Handler| -> u64 {
        let caught = CAUGHT.iter().filter_map(|outcome| handler.outcomes.get(outcome));
        caught.map(|count| count.total).sum()
    };
    let claim = |handler: &Handler, percent| handler.claims.percentile(percent).map_or("–".to_owned(), time);
    html! {
        section aria-labelledby="handlers" {
            h2 id="handlers" { "Handlers of this process" }
            @if handlers.is_empty() {
                p.none { "None has been called here. Mounted in a service, this page shows what its handlers do." }
            } @else {
                div.scroll tabindex="0" role="region" aria-labelledby="handlers" {
                    table {
                        thead { tr {
                            th scope="col" { "Prefix" }
                            th scope="col" { "Outcomes, and in the last minute" }
                            th.number scope="col" { "Duplicates caught" }
                            th.number scope="col" { "Claim, half of them within" }
                            th.number scope="col" { "99 %" }
                        } }
                        tbody { @for (prefix, handler) in &handlers {
                            tr {
                                th scope="row" {
                                    code { (prefix) }
                                    @for place in annotated.get(prefix).into_iter().flatten() { div.place { (place) } }
                                }
                                td {
                                    @for (outcome, count) in &handler.outcomes { (outcome_of(outcome, count, slot)) " " }
                                    @if handler.outcomes.is_empty() { span.none { "not called yet" } }
                                }
                                td.number { (caught(handler)) }
                                td.number { (claim(handler, 50)) }
                                td.number { (claim(handler, 99)) }
                            }
                        } }
                    }
                }
            }
        }
    }
}

/// The annotated handlers by prefix, each on a line: whether or not they were called. Known with the feature `registry`.
#[cfg(feature = "registry")]
fn annotated() -> BTreeMap<Arc<str>, Vec<String>> {
    let mut annotated: BTreeMap<Arc<str>, Vec<String>> = BTreeMap::new();
    for handler in crate::registry::handlers() {
        annotated.entry(handler.prefix().into()).or_default().push(handler.to_string());
    }
    annotated
}

#[cfg(not(feature = "registry"))]
fn annotated() -> BTreeMap<Arc<str>, Vec<String>> {
    BTreeMap::new()
}

fn outcome_of(outcome: &str, count: &Count, slot: u64) -> Markup {
    html! { span.outcome { (outcome) " " b { (count.total) } " (" (count.a_minute(slot)) ")" } }
}
