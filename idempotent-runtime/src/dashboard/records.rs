//! Records: many, one, and how many there are.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query as Asked, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::history::What;
use super::page::{Base, News, badge, escape, page, problem, refusal, retention, time};
use super::{Desk, Results};
use crate::admin::{Counts, Cursor, Inspected, Listed, Query, Standing, State as Of, Stats};
use crate::error::Error;
use crate::key::Key;
use crate::record::Recorded;

/// Pages that are looked through for one that is not empty.
const LOOKED_THROUGH: usize = 100;

/// The longest part of a result that is shown, in bytes.
const LONGEST_RESULT: usize = 64 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Which {
    prefix: String,
    state: String,
    silent_for_s: String,
    after: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct One {
    pub(super) key: String,
}

pub(super) async fn list(State(desk): State<Arc<Desk>>, base: Base, Asked(which): Asked<Which>) -> Response {
    let Some(query) = which.query() else {
        return refusal(&desk, &base, StatusCode::BAD_REQUEST, "There is no such state, or the age is not a number.");
    };
    match some(&desk, query).await {
        Ok((records, next)) => {
            let main = html! {
                h1 { "Records" }
                (which.form(&base))
                (table(&base, &records, "No record here."))
                @if let Some(next) = next { p { a href=(which.further(&base, &next)) rel="next" { "Further records" } } }
            };
            page(&desk, &base, "Records", News::Still, &main).into_response()
        }
        Err(error) => problem(&desk, &base, &error),
    }
}

/// The next page that has records.
async fn some(desk: &Desk, query: Query) -> Result<(Vec<Listed>, Option<Cursor>), Error> {
    let mut query = query;
    for _ in 0..LOOKED_THROUGH {
        let found = desk.idempotency.list(&query).await?;
        match found.next {
            Some(next) if found.records.is_empty() => query = query.after(next),
            next => return Ok((found.records, next)),
        }
    }
    Ok((Vec::new(), query.cursor().cloned()))
}

impl Which {
    fn query(&self) -> Option<Query> {
        let mut query = Query::new();
        if !self.prefix.is_empty() {
            query = query.prefix(&self.prefix);
        }
        if !self.state.is_empty() {
            query = query.standing(Standing::parse(&self.state)?);
        }
        if !self.silent_for_s.is_empty() {
            query = query.silent_for(Duration::from_secs(self.silent_for_s.parse().ok()?));
        }
        if !self.after.is_empty() {
            query = query.after(Cursor::new(&self.after));
        }
        Some(query)
    }

    fn form(&self, base: &Base) -> Markup {
        html! {
            form.filter action=(base.link("/records")) method="get" {
                label { "Prefix " input name="prefix" value=(self.prefix) spellcheck="false"; }
                label { "State " select name="state" {
                    option value="" { "any" }
                    @for standing in Standing::ALL {
                        option value=(standing) selected[standing.as_str() == self.state] { (standing) }
                    }
                } }
                label { "Silent for seconds " input name="silent_for_s" inputmode="numeric" size="6" value=(self.silent_for_s); }
                button { "Show" }
            }
        }
    }

    fn further(&self, base: &Base, next: &Cursor) -> String {
        let Self { prefix, state, silent_for_s, .. } = self;
        let query = [("prefix", &**prefix), ("state", state), ("silent_for_s", silent_for_s), ("after", next.as_str())];
        let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={}", escape(value))).collect();
        base.link(&format!("/records?{}", query.join("&")))
    }
}

/// Records as a table.
pub(super) fn table(base: &Base, records: &[Listed], none: &str) -> Markup {
    html! {
        @if records.is_empty() { p.none { (none) } } @else {
            div.scroll tabindex="0" role="region" aria-label="Records" {
                table {
                    thead { tr {
                        th scope="col" { "Key" }
                        th scope="col" { "State" }
                        th.number scope="col" { "Attempt" }
                        th scope="col" { "Owner" }
                        th.number scope="col" { "Silent for" }
                        th.number scope="col" { "Expires in" }
                    } }
                    tbody { @for listed in records { (row(base, listed)) } }
                }
            }
        }
    }
}

fn row(base: &Base, listed: &Listed) -> Markup {
    let key = listed.key.as_str();
    html! {
        tr {
            th scope="row" { a href=(base.record(key)) { code { (key) } } }
            td { (badge(listed.standing())) }
            @match &listed.record {
                Ok(record) => {
                    td.number { (record.attempt) }
                    td { (record.owner) }
                    td.number { (silence(&record.state)) }
                    td.number { (retention(record.expires_in)) }
                }
                Err(why) => td colspan="4" { (why) },
            }
        }
    }
}

fn silence<R>(state: &Of<R>) -> String {
    match state {
        Of::InProgress { silent_for, .. } => time(*silent_for),
        Of::Failed { .. } | Of::Completed(_) => "–".to_owned(),
    }
}

pub(super) async fn one(State(desk): State<Arc<Desk>>, base: Base, Asked(One { key }): Asked<One>) -> Response {
    let key = Key::from_text(key.trim());
    match desk.idempotency.inspect(&key).await {
        Ok(Some(record)) => {
            let main = html! {
                h1 { code { (key) } }
                (described(&desk, &record))
                @if desk.writable { (choices(&base, &key, &record)) }
                (seen(&desk, &key))
            };
            page(&desk, &base, key.as_str(), News::Still, &main).into_response()
        }
        Ok(None) => {
            let why = "There is no record of this key: the next call with it runs. It may have expired.";
            refusal(&desk, &base, StatusCode::NOT_FOUND, why)
        }
        Err(error) => problem(&desk, &base, &error),
    }
}

/// All that the record says, and of its history.
pub(super) fn described(desk: &Desk, record: &Inspected) -> Markup {
    html! {
        dl {
            dt { "State" } dd { (badge(record.standing())) }
            dt { "Attempts that have started" } dd { (record.attempt) }
            dt { "Owner of the last one" } dd { @if record.owner.is_empty() { "not recorded" } @else { (record.owner) } }
            dt { "Expires in" } dd { (retention(record.expires_in)) }
            dt { "Token of the last claim" } dd { code { (record.token) } }
            @match &record.state {
                Of::InProgress { remaining, silent_for, lease, begun, given_up } => {
                    dt { "Lease" } dd { (time(*lease)) ", of which " (time(*remaining)) " are left" }
                    dt { "Last heard of" } dd { (time(*silent_for)) " ago" }
                    dt { "Handler" } dd { @if *begun { "has begun" } @else { "had not begun" } @if *given_up { ", and was given up" } }
                }
                Of::Failed { last_error } => {
                    dt { "Last error" } dd { pre { (last_error) } }
                }
                Of::Completed(result) => {
                    dt { "Result" } dd { (shown(desk.results, result)) }
                }
            }
        }
    }
}

fn shown(results: Results, result: &Recorded) -> Markup {
    let (kind, bytes): (_, &[u8]) = match result {
        Recorded::Value(encoded) => ("a value", &encoded.bytes),
        Recorded::Error(encoded) => ("an error", &encoded.bytes),
        Recorded::Rejected(summary) => ("an error", summary.as_bytes()),
        Recorded::Nothing(why) => return html! { "nothing was recorded: " (format!("{why:?}")) },
    };
    html! {
        @if results == Results::Hidden {
            (kind) " of " (bytes.len()) " bytes, hidden"
        } @else {
            (kind) ": "
            pre { (String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_RESULT)])) }
            @if bytes.len() > LONGEST_RESULT { p.note { "It goes on, to " (bytes.len()) " bytes." } }
        }
    }
}

/// What this process has seen of a key: nothing where it has seen nothing.
fn seen(desk: &Desk, key: &Key) -> Markup {
    let events = desk.idempotency.core().tally.get().map(|tally| tally.history.of(key)).unwrap_or_default();
    html! {
        @if !events.is_empty() {
            h2 { "Seen by this process" }
            ol.history {
                @for (ago, what) in &events {
                    li { (time(*ago)) " ago: " @match what {
                        What::Ended(outcome, attempt) => {
                            "a call was " b { (outcome) }
                            @if let Some(attempt) = attempt { ", attempt " (attempt) }
                        }
                        What::Decided { change, who, why } => { b { (change) } " by " (who) ": " (why) }
                    } }
                }
            }
        }
    }
}

/// What can be done about a record.
fn choices(base: &Base, key: &Key, record: &Inspected) -> Markup {
    let link = |what: &str| base.link(&format!("/decide?what={what}&key={}", escape(key.as_str())));
    html! {
        @if record.is_live() {
            p.note { "A live run has the record: there is nothing to decide before its lease has lapsed." }
        } @else {
            h2 { "Decide" }
            ul.choices {
                li { a href=(link("release")) { "Release it" } ": the next call runs." }
                li { a href=(link("allow-one-more")) { "Allow one more attempt" } ": the next call runs, whatever " code { "max_attempts" } " says." }
                li { a href=(link("resolve")) { "Resolve it" } ": the effect is known to have happened; duplicates get the result that you give." }
            }
        }
    }
}

pub(super) async fn counts(State(desk): State<Arc<Desk>>, base: Base, Asked(which): Asked<Which>) -> Response {
    let Some(query) = which.query() else {
        return refusal(&desk, &base, StatusCode::BAD_REQUEST, "There is no such state, or the age is not a number.");
    };
    match desk.idempotency.stats(&query).await {
        Ok(stats) => page(&desk, &base, "Counts", News::Still, &counted(&base, &stats)).into_response(),
        Err(error) => problem(&desk, &base, &error),
    }
}

fn counted(base: &Base, stats: &Stats) -> Markup {
    let cells = |counts: &Counts| {
        html! {
            @for standing in Standing::ALL { td.number { (counts.of(standing)) } }
            td.number { (counts.all()) }
        }
    };
    html! {
        h1 { "Counts" }
        p { "By prefix, as the keys show it. Every record was looked at for this page." }
        div.scroll tabindex="0" role="region" aria-label="Counts" {
            table {
                thead { tr {
                    th scope="col" { "Prefix" }
                    @for standing in Standing::ALL { th.number scope="col" { (badge(standing)) } }
                    th.number scope="col" { "all" }
                } }
                tbody {
                    @for (prefix, counts) in &stats.prefixes {
                        tr {
                            th scope="row" { a href=(base.link(&format!("/records?prefix={}", escape(prefix)))) { code { (prefix) } } }
                            (cells(counts))
                        }
                    }
                    @if stats.others.all() > 0 { tr { th scope="row" { "others" } (cells(&stats.others)) } }
                }
                tfoot { tr { th scope="row" { "all" } (cells(&stats.total)) } }
            }
        }
        h2 { "Longest silent" }
        (table(base, &stats.oldest, "Nothing is in progress."))
    }
}
