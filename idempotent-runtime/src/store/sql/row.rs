//! A record as columns.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::connection::{Row, Value};
use super::sweep::Expired;
use crate::fingerprint::Fingerprint;
use crate::key::Key;
use crate::record::{CodecTag, Completed, Encoded, NoResult, Recorded};
use crate::store::machine::decisions;
use crate::store::machine::state::{Before, Failed, InProgress, Moment, Standing, State};
use crate::store::{Found, Retention, StoreError};
use crate::token::Token;

/// The version of this layout, as each row says it.
const FORMAT: i64 = 1;

/// Which row a record stands in, as of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) fence: i64,
    pub(super) revision: i64,
}

/// What was read under a key.
pub(super) struct Read {
    pub(super) now: Moment,
    /// The row, unless there is none.
    pub(super) place: Option<Place>,
    /// What it says, or why it cannot be read.
    pub(super) state: Result<State, Malformed>,
}

/// Why a row is no record.
#[derive(Debug)]
pub(super) struct Malformed(pub(super) String);

/// A fixed-length stand-in for the key, which may be long.
pub(super) fn digest(key: &Key) -> Vec<u8> {
    blake3::hash(key.as_str().as_bytes()).as_bytes().to_vec()
}

/// PostgreSQL's text holds no NUL.
fn text(text: &str) -> String {
    text.replace('\0', "\u{2400}")
}

pub(super) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

pub(super) fn moment(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

pub(super) fn retention(retention: Retention) -> Option<i64> {
    match retention {
        Retention::For(time) => Some(micros(time)),
        Retention::Forever => None,
    }
}

fn kept(micros: Option<i64>) -> Retention {
    micros.map_or(Retention::Forever, |micros| Retention::For(moment(micros)))
}

/// The values `$1` to `$19` of a record; a fence of 0 asks for a new one.
pub(super) fn written(key: &Key, place: Place, state: &State) -> Vec<Value> {
    let columns = Columns::of(state);
    let fence = columns.fence.unwrap_or(place.fence);
    vec![
        Value::Bytes(Some(digest(key))),
        Value::Int(Some(fence)),
        Value::Int(Some(place.revision)),
        Value::Text(Some(text(key.as_str()))),
        Value::Text(Some(columns.state.to_owned())),
        Value::Text(Some(columns.token.to_string())),
        Value::Int(Some(columns.attempt.into())),
        Value::Text(columns.owner.map(text)),
        Value::Text(columns.fingerprint.map(|fingerprint| fingerprint.text())),
        Value::Int(columns.lease),
        Value::Int(columns.retention),
        Value::Int(columns.held),
        Value::Int(columns.live_until),
        Value::Text(columns.found.map(str::to_owned)),
        Value::Text(columns.before),
        Value::Text(columns.error.map(text)),
        Value::Text(columns.result.as_ref().map(|(kind, _)| kind.clone())),
        Value::Bytes(columns.result.map(|(_, bytes)| bytes)),
        Value::Int(state.expires().map(micros)),
    ]
}

/// What differs between the states.
struct Columns<'a> {
    fence: Option<i64>,
    state: &'static str,
    token: Token,
    attempt: u32,
    owner: Option<&'a str>,
    fingerprint: Option<Fingerprint>,
    lease: Option<i64>,
    retention: Option<i64>,
    held: Option<i64>,
    live_until: Option<i64>,
    found: Option<&'static str>,
    before: Option<String>,
    error: Option<&'a str>,
    result: Option<(String, Vec<u8>)>,
}

impl<'a> Columns<'a> {
    fn of(state: &'a State) -> Self {
        let nothing = Self {
            fence: None,
            state: "absent",
            token: Token::from_u128(0),
            attempt: 0,
            owner: None,
            fingerprint: None,
            lease: None,
            retention: None,
            held: None,
            live_until: None,
            found: None,
            before: None,
            error: None,
            result: None,
        };
        match state {
            State::Absent => nothing,
            State::InProgress(own) => Self {
                fence: Some(i64::try_from(own.fence).unwrap_or(i64::MAX)),
                state: standing(own.standing),
                token: own.token,
                attempt: own.attempt,
                owner: Some(&own.owner),
                fingerprint: own.fingerprint,
                lease: Some(micros(own.lease)),
                retention: retention(own.retention),
                held: retention(own.held),
                live_until: Some(micros(own.live_until)),
                found: Some(found(own.found)),
                before: before(&own.before),
                ..nothing
            },
            State::Failed(failed) => Self {
                state: "failed",
                token: failed.token,
                attempt: failed.attempt,
                error: Some(&failed.error),
                ..nothing
            },
            State::Completed { record, .. } => Self {
                state: "completed",
                token: record.token,
                attempt: record.attempt,
                fingerprint: record.fingerprint,
                result: Some(result(&record.result)),
                ..nothing
            },
        }
    }
}

/// The kind of a result, and its bytes.
pub(super) fn result(result: &Recorded) -> (String, Vec<u8>) {
    match result {
        Recorded::Value(Encoded { codec, bytes }) => (format!("value:{codec}"), bytes.to_vec()),
        Recorded::Error(Encoded { codec, bytes }) => (format!("error:{codec}"), bytes.to_vec()),
        Recorded::Rejected(summary) => ("rejected".to_owned(), summary.as_bytes().to_vec()),
        Recorded::Nothing(NoResult::NotWanted) => ("not wanted".to_owned(), Vec::new()),
        Recorded::Nothing(NoResult::TooLarge) => ("too large".to_owned(), Vec::new()),
        Recorded::Nothing(NoResult::NotSerialisable) => ("not serialisable".to_owned(), Vec::new()),
    }
}

fn recorded(kind: &str, bytes: Vec<u8>) -> Option<Recorded> {
    let encoded = |codec, bytes: Vec<u8>| Some(Encoded { codec: CodecTag::parse(codec)?, bytes: bytes.into() });
    Some(match kind.split_once(':') {
        Some(("value", codec)) => Recorded::Value(encoded(codec, bytes)?),
        Some(("error", codec)) => Recorded::Error(encoded(codec, bytes)?),
        Some(_) => return None,
        None => match kind {
            "rejected" => Recorded::Rejected(String::from_utf8(bytes).ok()?.into()),
            "not wanted" => Recorded::Nothing(NoResult::NotWanted),
            "too large" => Recorded::Nothing(NoResult::TooLarge),
            "not serialisable" => Recorded::Nothing(NoResult::NotSerialisable),
            _ => return None,
        },
    })
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Claimed => "claimed",
        Standing::Begun => "begun",
        Standing::GivenUp => "given_up",
    }
}

fn read_standing(text: &str) -> Option<Standing> {
    [Standing::Claimed, Standing::Begun, Standing::GivenUp].into_iter().find(|it| standing(*it) == text)
}

fn found(found: Found) -> &'static str {
    match found {
        Found::Absent => "absent",
        Found::Failed => "failed",
        Found::Lapsed { begun: false } => "lapsed",
        Found::Lapsed { begun: true } => "lapsed_begun",
        Found::Completed => "completed",
    }
}

fn read_found(text: &str) -> Option<Found> {
    let all = [Found::Absent, Found::Failed, Found::Lapsed { begun: false }, Found::Lapsed { begun: true }];
    all.into_iter().chain([Found::Completed]).find(|it| found(*it) == text)
}

/// What a claim can put back, as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    Failed(String),
    Lapsed(Lapsed),
    Completed,
}

/// A claim that was taken over, as its row was.
#[derive(Serialize, Deserialize)]
struct Lapsed {
    fence: u64,
    state: String,
    token: String,
    attempt: u32,
    owner: String,
    fingerprint: Option<String>,
    lease: i64,
    retention: Option<i64>,
    held: Option<i64>,
    live_until: i64,
    expires_at: Option<i64>,
    found: String,
}

fn before(before: &Before) -> Option<String> {
    let kept = match before {
        Before::Nothing => return None,
        Before::Failed(error) => Kept::Failed(error.as_ref().to_owned()),
        Before::Completed => Kept::Completed,
        Before::Lapsed(claim) => Kept::Lapsed(Lapsed {
            fence: claim.fence,
            state: standing(claim.standing).to_owned(),
            token: claim.token.to_string(),
            attempt: claim.attempt,
            owner: claim.owner.as_ref().to_owned(),
            fingerprint: claim.fingerprint.map(|fingerprint| fingerprint.text()),
            lease: micros(claim.lease),
            retention: retention(claim.retention),
            held: retention(claim.held),
            live_until: micros(claim.live_until),
            expires_at: claim.expires.map(micros),
            found: found(claim.found).to_owned(),
        }),
    };
    // Text, numbers and options: nothing that JSON could refuse.
    serde_json::to_string(&kept).ok()
}

fn read_before(json: Option<&str>) -> Option<Before> {
    let Some(json) = json else { return Some(Before::Nothing) };
    Some(match serde_json::from_str(json).ok()? {
        Kept::Failed(error) => Before::Failed(error.into()),
        Kept::Completed => Before::Completed,
        Kept::Lapsed(claim) => Before::Lapsed(Box::new(InProgress {
            token: Token::parse(&claim.token)?,
            attempt: claim.attempt,
            owner: claim.owner.into(),
            fingerprint: read_fingerprint(claim.fingerprint)?,
            lease: moment(claim.lease),
            retention: kept(claim.retention),
            held: kept(claim.held),
            live_until: moment(claim.live_until),
            expires: claim.expires_at.map(moment),
            standing: read_standing(&claim.state)?,
            fence: claim.fence,
            found: read_found(&claim.found)?,
            before: Before::Nothing,
        })),
    })
}

/// The inner `None` is a record without one, the outer one that cannot be read.
#[allow(clippy::option_option)]
pub(super) fn read_fingerprint(text: Option<String>) -> Option<Option<Fingerprint>> {
    text.map_or(Some(None), |text| Fingerprint::parse(&text).map(Some))
}

/// Reads what the statement `read` brought.
pub(super) fn read(row: &Row) -> Result<Read, StoreError> {
    let place_of = |row: &Row| Ok((row.int(0)?, row.int(1)?, row.int(2)?, row.int(18)?));
    let (now, fence, revision, expires) = place_of(row).map_err(|error: sqlx::Error| StoreError::refused(error))?;
    let now = moment(now.unwrap_or_default());
    let Some((fence, revision)) = fence.zip(revision) else {
        return Ok(Read { now, place: None, state: Ok(State::Absent) });
    };
    // What has expired is gone, whatever it was.
    let gone = expires.map(moment).is_some_and(|expires| expires <= now);
    let state = if gone { Ok(State::Absent) } else { state(row, fence, expires.map(moment)) };
    Ok(Read { now, place: Some(Place { fence, revision }), state })
}

/// Reads what the statement `take` brought: the record's digest and place, and the record.
pub(super) fn taken(row: &Row) -> Result<((Vec<u8>, Place), Expired), StoreError> {
    let cells = || Ok((row.int(0)?, row.int(1)?, row.int(2)?, row.int(18)?, row.bytes(19)?, row.text(20)?));
    let (now, fence, revision, expires, digest, key) =
        cells().map_err(|error: sqlx::Error| StoreError::refused(error))?;
    let place = Place { fence: fence.unwrap_or_default(), revision: revision.unwrap_or_default() };
    let record = state(row, place.fence, expires.map(moment)).ok();
    let record = record.and_then(|state| decisions::shown(&state, moment(now.unwrap_or_default())));
    Ok(((digest.unwrap_or_default(), place), Expired { key: key.unwrap_or_default(), record }))
}

fn state(row: &Row, fence: i64, expires: Option<Moment>) -> Result<State, Malformed> {
    known_format(row.int(3).map_err(|error| Malformed(error.to_string()))?)?;
    match Cells(row).state(fence, expires) {
        Ok(Some(state)) => Ok(state),
        Ok(None) => Err(Malformed("its row is no record".to_owned())),
        Err(error) => Err(Malformed(error.to_string())),
    }
}

/// Whether the row is of the format that is known here.
pub(super) fn known_format(format: Option<i64>) -> Result<(), Malformed> {
    if format == Some(FORMAT) {
        return Ok(());
    }
    let format = format.unwrap_or_default();
    Err(Malformed(format!("its format {format} is not {FORMAT}, the only one that is known here")))
}

struct Cells<'a>(&'a Row);

impl Cells<'_> {
    /// `None` where a cell makes no sense.
    fn state(&self, fence: i64, expires: Option<Moment>) -> Result<Option<State>, sqlx::Error> {
        let Some(state) = self.0.text(4)? else { return Ok(None) };
        let Some(token) = self.0.text(5)?.as_deref().and_then(Token::parse) else { return Ok(None) };
        let Some(attempt) = self.0.int(6)?.and_then(|attempt| u32::try_from(attempt).ok()) else { return Ok(None) };
        let Some(fingerprint) = read_fingerprint(self.0.text(8)?) else { return Ok(None) };
        Ok(match state.as_str() {
            "failed" => {
                let error: Arc<str> = self.0.text(15)?.unwrap_or_default().into();
                Some(State::Failed(Failed { token, attempt, error, expires }))
            }
            "completed" => {
                let result = self.0.text(16)?.zip(self.0.bytes(17)?).and_then(|(kind, bytes)| recorded(&kind, bytes));
                result.map(|result| State::Completed {
                    record: Completed { token, attempt, fingerprint, result },
                    expires,
                })
            }
            standing => {
                let standing = read_standing(standing);
                let own =
                    standing.map(|standing| self.in_progress(token, attempt, fingerprint, standing, fence, expires));
                own.transpose()?.flatten().map(State::InProgress)
            }
        })
    }

    fn in_progress(
        &self,
        token: Token,
        attempt: u32,
        fingerprint: Option<Fingerprint>,
        standing: Standing,
        fence: i64,
        expires: Option<Moment>,
    ) -> Result<Option<InProgress>, sqlx::Error> {
        let Some((lease, live_until)) = self.0.int(9)?.zip(self.0.int(12)?) else { return Ok(None) };
        let Some(found) = self.0.text(13)?.as_deref().and_then(read_found) else { return Ok(None) };
        let Some(before) = read_before(self.0.text(14)?.as_deref()) else { return Ok(None) };
        Ok(Some(InProgress {
            token,
            attempt,
            owner: self.0.text(7)?.unwrap_or_default().into(),
            fingerprint,
            lease: moment(lease),
            retention: kept(self.0.int(10)?),
            held: kept(self.0.int(11)?),
            live_until: moment(live_until),
            expires,
            standing,
            fence: u64::try_from(fence).unwrap_or_default(),
            found,
            before,
        }))
    }
}
