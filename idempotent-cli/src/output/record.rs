//! Records, for people and for programs.

use std::time::Duration;

use idempotent_runtime::admin::{Counts, Inspected, Listed, Standing, State};
use idempotent_runtime::store::Retention;
use idempotent_runtime::{Key, NoResult, Recorded};
use serde_json::{Map, Value, json};

use super::Paint;
use crate::span;

/// What a program is told of a record in a list.
pub(crate) fn listed(listed: &Listed) -> Value {
    match &listed.record {
        Ok(record) => Value::Object(described(&listed.key, record)),
        Err(why) => json!({
            "key": listed.key.as_str(),
            "state": Standing::Unreadable.as_str(),
            "why": &**why,
        }),
    }
}

/// What a program is told of a record, without its result.
pub(crate) fn described<R>(key: &Key, record: &Inspected<R>) -> Map<String, Value> {
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| drop(all.insert(name.to_owned(), value));
    put("key", json!(key.as_str()));
    put("entity", json!(key.entity()));
    put("step", json!(key.step()));
    put("state", json!(record.standing().as_str()));
    put("attempt", json!(record.attempt));
    put("token", json!(record.token.to_string()));
    put("owner", json!(Some(&*record.owner).filter(|owner| !owner.is_empty())));
    put("fingerprint", json!(record.fingerprint.map(|fingerprint| fingerprint.to_string())));
    put(
        "expires_in_ms",
        match record.expires_in {
            Retention::For(time) => json!(millis(time)),
            Retention::Forever => Value::Null,
        },
    );
    match &record.state {
        State::InProgress { remaining, silent_for, lease, begun, given_up } => {
            put("lease_ms", json!(millis(*lease)));
            put("remaining_ms", json!(millis(*remaining)));
            put("silent_for_ms", json!(millis(*silent_for)));
            put("begun", json!(begun));
            put("given_up", json!(given_up));
        }
        State::Failed { last_error } => put("last_error", json!(&**last_error)),
        State::Completed(_) => {}
    }
    all
}

/// What a program is told of a result; what stands in it only where it is to be shown.
pub(crate) fn result(result: &Recorded, show: bool) -> Value {
    let encoded = |kind: &str, encoded: &idempotent_runtime::Encoded| {
        let text = std::str::from_utf8(&encoded.bytes).ok();
        let value = text.and_then(|text| serde_json::from_str(text).ok());
        let shown = || value.clone().or_else(|| text.map(|text| json!(text)));
        json!({
            "kind": kind,
            "codec": encoded.codec.as_str(),
            "bytes": encoded.bytes.len(),
            "value": if show { shown() } else { None },
        })
    };
    match result {
        Recorded::Value(value) => encoded("value", value),
        Recorded::Error(error) => encoded("error", error),
        Recorded::Rejected(summary) => json!({ "kind": "rejected", "summary": show.then_some(&**summary) }),
        Recorded::Nothing(why) => json!({ "kind": "nothing", "why": match why {
            NoResult::NotWanted => "not wanted",
            NoResult::TooLarge => "too large",
            NoResult::NotSerialisable => "not serialisable",
        }}),
    }
}

/// What a program is told of numbers.
pub(crate) fn counts(counts: &Counts) -> Value {
    let mut all = Map::new();
    for standing in Standing::ALL {
        all.insert(standing.as_str().to_owned(), json!(counts.of(standing)));
    }
    all.insert("all".to_owned(), json!(counts.all()));
    Value::Object(all)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A row of a table of records: key, state, attempt, owner, silence, what is left, and what else there is to say.
pub(crate) fn row(listed: &Listed) -> [(String, Paint); 7] {
    let plain = |text: String| (text, Paint::Plain);
    let standing = listed.standing();
    let key = listed.key.as_str().to_owned();
    let state = (standing.as_str().to_owned(), standing.into());
    let Ok(record) = &listed.record else {
        let why = listed.record.as_ref().err().map(ToString::to_string).unwrap_or_default();
        return [
            plain(key),
            state,
            plain(String::new()),
            plain(String::new()),
            plain(String::new()),
            plain(String::new()),
            plain(why),
        ];
    };
    let (silence, more) = match &record.state {
        State::InProgress { silent_for, begun, given_up, .. } => {
            let more = match (begun, given_up) {
                (_, true) => "given up",
                (false, false) => "not begun",
                (true, false) => "",
            };
            (span::text(*silent_for), more.to_owned())
        }
        State::Failed { last_error } => (String::new(), clipped(last_error)),
        State::Completed(()) => (String::new(), String::new()),
    };
    let owner = record.owner.to_string();
    let left = left(record.expires_in);
    [plain(key), state, plain(record.attempt.to_string()), plain(owner), plain(silence), plain(left), plain(more)]
}

/// The head of such a table.
pub(crate) const HEAD: [&str; 7] = ["KEY", "STATE", "ATTEMPT", "OWNER", "SILENT", "EXPIRES IN", ""];

/// How long a record is still kept.
pub(crate) fn left(expires_in: Retention) -> String {
    match expires_in {
        // The store keeps what has no end for a hundred years.
        Retention::For(time) if time < Duration::from_hours(24 * 365 * 90) => span::text(time),
        Retention::For(_) | Retention::Forever => "never".to_owned(),
    }
}

fn clipped(text: &str) -> String {
    let mut clipped: String = text.chars().take(60).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}
