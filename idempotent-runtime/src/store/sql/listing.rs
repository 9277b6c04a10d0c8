//! Many records, a page at a time, in the order of their digests: each page is a short walk along the primary key.
//!
//! What is selected is decided here and not in SQL, so that no page, however little it finds, costs the database more
//! than its size.

use std::sync::Arc;
use std::time::Duration;

use super::connection::{Row, Value};
use super::error::Failure;
use super::records::Records;
use super::row::{self, Malformed};
use crate::admin::{Changed, Cursor, Leases, Listed, Page, Query, Seen, State, Summary};
use crate::key::Key;
use crate::store::machine::decisions;
use crate::store::{Retention, StoreError};
use crate::token::Token;

/// The columns that a list needs, after the time: not the result, which may be large.
pub(super) const COLUMNS: &str = "digest, key, format, state, token, attempt, owner, fingerprint, lease, live_until, \
                                  substr(error, 1, 500), expires_at";

/// How often a removal may find that its record has changed while it was being decided.
const TRIES: usize = 100;

impl Records {
    pub(super) async fn page(&self, query: &Query) -> Result<Page, StoreError> {
        let after = query.cursor().map_or(Ok(Vec::new()), digest)?;
        let size = query.page_size();
        let values = vec![Value::Bytes(Some(after)), Value::Int(Some(i64::try_from(size).unwrap_or(i64::MAX)))];
        let rows = self.rows(&self.statements().list, values).await.map_err(Failure::into_error)?;
        let mut page = Page::default();
        for row in &rows {
            page.records.extend(listed(row).map_err(StoreError::refused)?.filter(|listed| query.selects(listed)));
        }
        if let Some(last) = rows.last().filter(|_| rows.len() == size) {
            let digest = last.bytes(1).map_err(StoreError::refused)?.unwrap_or_default();
            page.next = Some(Cursor::new(&hex(&digest)));
        }
        Ok(page)
    }

    pub(super) async fn remove(&self, key: &Key, seen: Seen, leases: Leases) -> Result<Changed, StoreError> {
        for _ in 0..TRIES {
            let row::Read { now, place, state } = self.read(key).await?;
            let (Some(place), Ok(state)) = (place, state) else { return Ok(Changed::Moved) };
            if decisions::remove(state, now, seen, leases).0 == Changed::Moved {
                return Ok(Changed::Moved);
            }
            let values = vec![
                Value::Bytes(Some(row::digest(key))),
                Value::Int(Some(place.fence)),
                Value::Int(Some(place.revision)),
            ];
            match self.rows(&self.statements().remove_seen, values).await {
                Ok(rows) if rows.is_empty() => {}
                Ok(_) => return Ok(Changed::Done),
                Err(Failure::Conflict(_)) => {}
                Err(failure) => return Err(failure.into_error()),
            }
        }
        Err(StoreError::unavailable(format!("the record of {key} changed {TRIES} times while it was being removed")))
    }
}

/// A row of the list; nothing for what has expired.
fn listed(row: &Row) -> Result<Option<Listed>, sqlx::Error> {
    let now = row::moment(row.int(0)?.unwrap_or_default());
    let expires = row.int(12)?.map(row::moment);
    if expires.is_some_and(|expires| expires <= now) {
        return Ok(None);
    }
    let key = Key::from_text(&row.text(2)?.unwrap_or_default());
    let expires_in = expires.map_or(Retention::Forever, |expires| Retention::For(expires.saturating_sub(now)));
    let record = summary(row, now, expires_in)?;
    let record = record.map_err(|Malformed(why)| Arc::from(format!("the record of {key} cannot be read: {why}")));
    Ok(Some(Listed { key, record }))
}

fn summary(row: &Row, now: Duration, expires_in: Retention) -> Result<Result<Summary, Malformed>, sqlx::Error> {
    if let Err(malformed) = row::known_format(row.int(3)?) {
        return Ok(Err(malformed));
    }
    let cells = || -> Result<Option<Summary>, sqlx::Error> {
        let Some(token) = row.text(5)?.as_deref().and_then(Token::parse) else { return Ok(None) };
        let Some(attempt) = row.int(6)?.and_then(|attempt| u32::try_from(attempt).ok()) else { return Ok(None) };
        let Some(fingerprint) = row::read_fingerprint(row.text(8)?) else { return Ok(None) };
        let (standing, times) = (row.text(4)?.unwrap_or_default(), row.int(9)?.zip(row.int(10)?));
        let state = match (standing.as_str(), times) {
            ("failed", _) => State::Failed { last_error: row.text(11)?.unwrap_or_default().into() },
            ("completed", _) => State::Completed(()),
            ("claimed" | "begun" | "given_up", Some((lease, live_until))) => {
                let (lease, live_until) = (row::moment(lease), row::moment(live_until));
                let given_up = standing == "given_up";
                let remaining = if given_up { Duration::ZERO } else { live_until.saturating_sub(now) };
                let silent_for = (now + lease).saturating_sub(live_until);
                State::InProgress { remaining, silent_for, lease, begun: standing != "claimed", given_up }
            }
            _ => return Ok(None),
        };
        // As in `inspect`: of a record that has ended the row says who made it, and the record does not.
        let owner =
            if matches!(state, State::InProgress { .. }) { row.text(7)?.unwrap_or_default() } else { String::new() };
        let owner = owner.into();
        Ok(Some(Summary { token, attempt, owner, fingerprint, state, expires_in }))
    };
    Ok(cells()?.ok_or_else(|| Malformed("its row is no record".to_owned())))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string does not fail.
        _ = write!(text, "{byte:02x}");
        text
    })
}

fn digest(cursor: &Cursor) -> Result<Vec<u8>, StoreError> {
    let text = cursor.as_str();
    let bytes = || (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect();
    let digest: Option<Vec<u8>> = bytes();
    digest
        .filter(|digest| digest.len() == blake3::OUT_LEN)
        .ok_or_else(|| StoreError::refused(format!("{cursor:?} is no place in this store: list from the start")))
}
