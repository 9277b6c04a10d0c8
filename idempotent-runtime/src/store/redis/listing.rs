//! Many records, a page at a time.
//!
//! `SCAN` on one server after the other gives the names of keys, never `KEYS`. What stands at them is read in one go, and
//! of a string only the beginning: a result can be a megabyte. What is in progress is read once more, by the script that
//! looks at a record and at its expiry in one step, since only these two together say whether its lease has lapsed.
//!
//! - A key that is a string is a record if it begins as one does. One that does not is somebody else's, unless it was
//!   asked for by the beginning of its name: then it is a record that cannot be read.
//! - A key that is a Hash is an entity. Its steps are all on one page; fields that are no steps are the application's.
//!
//! A place in the list is a server, what it calls itself, and its own cursor. The cursor means nothing to another server:
//! so after a failover, or when the nodes of a Cluster have changed, whoever lists has to begin again.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use redis::Value;

use super::RedisStore;
use super::commands::{call, other_type, unexpected, unreadable_text};
use super::connection::Connections;
use super::error::Failure;
use super::value::{Record, State};
use super::{admin, scripts};
use crate::admin::{Cursor, Inspected, Listed, Page, Query, State as Shown, Summary};
use crate::key::Key;
use crate::store::{Retention, StoreError, StoreErrorKind};
use crate::together::together;

/// How much of a string is read: enough for its head and the beginning of an error.
const BEGINNING: usize = 512;

/// How many keys are read in one go: the server answers what came in one go before it turns to anybody else.
const AT_ONCE: usize = 32;

/// A place in the list.
struct Place {
    /// Which of the servers, in the order of their names.
    server: usize,
    /// The servers' names, and what the one calls itself.
    identity: u64,
    cursor: u64,
}

/// A string, as far as it was read.
struct Beginning {
    text: Vec<u8>,
    left: i64,
}

impl RedisStore {
    pub(super) async fn page(&self, query: &Query) -> Result<Page, StoreError> {
        let mut servers = self.connections.servers();
        servers.sort_by_cached_key(|server| server.place.to_string());
        let place = query.cursor().map(Place::read).transpose()?;
        let at = place.as_ref().map_or(0, |place| place.server);
        let server = servers.get(at).ok_or_else(|| moved("there are fewer servers than before"))?;
        let identity = identity(&servers, server).await?;
        if place.as_ref().is_some_and(|place| place.identity != identity && place.cursor != 0) {
            return Err(moved("the servers are others than before"));
        }
        let (cursor, names) = scan(server, place.map_or(0, |place| place.cursor), query).await?;
        let mut records = Vec::new();
        for names in names.chunks(AT_ONCE) {
            for found in together(names.iter().map(|name| self.records_at(name, query))).await {
                records.extend(found?.into_iter().filter(|listed| query.selects(listed)));
            }
        }
        let next = match cursor {
            0 if at + 1 < servers.len() => Some(Place { server: at + 1, identity: 0, cursor: 0 }),
            0 => None,
            cursor => Some(Place { server: at, identity, cursor }),
        };
        Ok(Page { records, next: next.map(|place| place.written()) })
    }

    /// The records at one key: one, none, or the steps of an entity.
    async fn records_at(&self, name: &[u8], query: &Query) -> Result<Vec<Listed>, StoreError> {
        let Ok(name) = std::str::from_utf8(name) else { return Ok(Vec::new()) };
        let key = Key::from_text(name);
        if key.step().is_some() {
            return Ok(Vec::new()); // no key of ours: steps are fields
        }
        let asked_for = !query.key_beginning().is_empty();
        match self.beginning(name).await {
            Ok(Some(beginning)) => {
                let record = self.string(&key, &beginning, asked_for).await?;
                Ok(record.map(|record| Listed { key, record }).into_iter().collect())
            }
            Ok(None) => Ok(Vec::new()),
            Err(Failure::WrongType) => match self.steps(&key).await {
                Err(Failure::WrongType) if asked_for => {
                    let why = unreadable_text(&key, other_type(&key));
                    Ok(vec![Listed { key, record: Err(why.into()) }])
                }
                Err(Failure::WrongType) => Ok(Vec::new()),
                steps => steps.map_err(Failure::into_error),
            },
            Err(failure) => Err(failure.into_error()),
        }
    }

    /// The beginning of what stands at a key; nothing where nothing does any more.
    async fn beginning(&self, name: &str) -> Result<Option<Beginning>, Failure> {
        let mut text = redis::cmd("GETRANGE");
        text.arg(name).arg(0).arg(BEGINNING - 1);
        let mut left = redis::cmd("PTTL");
        left.arg(name);
        let mut answers = together([&text, &left].map(|command| self.connections.send(command))).await.into_iter();
        match (answers.next().transpose()?, answers.next().transpose()?) {
            (Some(Value::BulkString(_)), Some(Value::Int(-2))) => Ok(None),
            (Some(Value::BulkString(text)), Some(Value::Int(left))) => Ok(Some(Beginning { text, left })),
            (other, _) => Err(unexpected(&other.unwrap_or(Value::Nil)).into()),
        }
    }

    /// The record that begins so; nothing where it is none.
    async fn string(
        &self,
        key: &Key,
        Beginning { text, left }: &Beginning,
        asked_for: bool,
    ) -> Result<Option<Result<Summary, Arc<str>>>, StoreError> {
        if matches!(text.as_slice(), [b'1', b'p' | b'g', b' ', ..]) {
            return self.in_progress(key).await;
        }
        let left = u64::try_from(*left).ok().map(Duration::from_millis);
        let cut = text.len() == BEGINNING;
        match Record::read(shortened(text, cut)) {
            Ok(record) => Ok(Some(Ok(ended(&record, left)))),
            Err(malformed) if asked_for || looks_like_one(text) => {
                Ok(Some(Err(unreadable_text(key, malformed).into())))
            }
            Err(_) => Ok(None),
        }
    }

    /// A record and its expiry, read in one step.
    async fn in_progress(&self, key: &Key) -> Result<Option<Result<Summary, Arc<str>>>, StoreError> {
        let script = &scripts::of(key).inspect;
        match self.run(script, key, &mut call(script, key, 1, 0)).await {
            Ok(answer) => match admin::read(key, &answer) {
                Ok(inspected) => Ok(inspected.map(|inspected| Ok(summary(inspected)))),
                Err(error) if error.kind() == StoreErrorKind::Unreadable => Ok(Some(Err(error.to_string().into()))),
                Err(error) => Err(error),
            },
            Err(Failure::WrongType) => Ok(None),
            Err(failure) => Err(failure.into_error()),
        }
    }

    /// The steps of an entity: fields that begin as a step's does.
    async fn steps(&self, entity: &Key) -> Result<Vec<Listed>, Failure> {
        let mut steps: HashSet<Key> = HashSet::new();
        let mut cursor = 0;
        loop {
            let mut command = redis::cmd("HSCAN");
            command.arg(entity.as_str()).arg(cursor).arg("COUNT").arg(AT_ONCE);
            let (next, fields) = scanned(&self.connections.send(&command).await?)?;
            for pair in fields.chunks_exact(2) {
                let step = std::str::from_utf8(&pair[0]).ok().and_then(|step| entity.with_step(step).ok());
                steps.extend(step.filter(|_| pair[1].starts_with(b"until=")));
            }
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
        let steps: Vec<Key> = steps.into_iter().collect();
        let mut listed = Vec::new();
        for some in steps.chunks(AT_ONCE) {
            let records = together(some.iter().map(|step| self.in_progress(step))).await;
            for (step, record) in some.iter().zip(records) {
                listed.extend(record?.map(|record| Listed { key: step.clone(), record }));
            }
        }
        Ok(listed)
    }
}

/// One turn of `SCAN` on one server: its next cursor, and names, each once.
async fn scan(server: &Arc<Connections>, cursor: u64, query: &Query) -> Result<(u64, Vec<Vec<u8>>), StoreError> {
    let mut command = redis::cmd("SCAN");
    command.arg(cursor);
    if !query.key_beginning().is_empty() {
        // An entity's name lacks its step, which may be what the query goes on with.
        let entity = query.key_beginning().split_once('[').map_or(query.key_beginning(), |(entity, _)| entity);
        command.arg("MATCH").arg(pattern(entity));
    }
    command.arg("COUNT").arg(query.page_size());
    let answer = server.send(&command).await.map_err(Failure::into_error)?;
    let (cursor, mut names) = scanned(&answer).map_err(Failure::into_error)?;
    names.sort_unstable();
    names.dedup();
    Ok((cursor, names))
}

/// The pattern for names that begin with this text: nothing in it has a meaning.
fn pattern(beginning: &str) -> String {
    let mut pattern = String::with_capacity(beginning.len() + 1);
    for char in beginning.chars() {
        if matches!(char, '*' | '?' | '[' | ']' | '\\' | '^' | '-') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern.push('*');
    pattern
}

/// A cursor, and what came with it.
fn scanned(answer: &Value) -> Result<(u64, Vec<Vec<u8>>), Failure> {
    let read = || {
        let Value::Array(parts) = answer else { return None };
        let [Value::BulkString(cursor), Value::Array(names)] = parts.as_slice() else { return None };
        let names = names.iter().map(|name| match name {
            Value::BulkString(name) => Some(name.clone()),
            _ => None,
        });
        Some((std::str::from_utf8(cursor).ok()?.parse().ok()?, names.collect::<Option<_>>()?))
    };
    read().ok_or_else(|| unexpected(answer).into())
}

/// All the servers' names, and what the one calls itself: another after a restart, or behind another primary.
async fn identity(servers: &[Arc<Connections>], server: &Arc<Connections>) -> Result<u64, StoreError> {
    let mut question = redis::cmd("INFO");
    question.arg("server");
    let told = match server.send(&question).await.map_err(Failure::into_error)? {
        Value::BulkString(text) => String::from_utf8_lossy(&text).into_owned(),
        Value::VerbatimString { text, .. } => text,
        other => return Err(unexpected(&other)),
    };
    let mut digest = blake3::Hasher::new();
    for server in servers {
        digest.update(server.place.to_string().as_bytes()).update(b"\n");
    }
    digest.update(told.lines().find(|line| line.starts_with("run_id:")).unwrap_or_default().as_bytes());
    let bytes = digest.finalize();
    Ok(bytes.as_bytes()[..8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn moved(why: &str) -> StoreError {
    StoreError::refused(format!("the place in the list is gone ({why}): list from the start"))
}

impl Place {
    fn written(&self) -> Cursor {
        Cursor::new(&format!("{}.{:x}.{:x}", self.server, self.identity, self.cursor))
    }

    fn read(cursor: &Cursor) -> Result<Self, StoreError> {
        let parts = || {
            let mut parts = cursor.as_str().split('.');
            let server = parts.next()?.parse().ok()?;
            let identity = u64::from_str_radix(parts.next()?, 16).ok()?;
            let cursor = u64::from_str_radix(parts.next()?, 16).ok()?;
            parts.next().is_none().then_some(Self { server, identity, cursor })
        };
        parts().ok_or_else(|| StoreError::refused(format!("{cursor:?} is no place in this store: list from the start")))
    }
}

/// Whether a text begins as a record of some format does.
fn looks_like_one(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..4).contains(&digits) && matches!(&text[digits..], [state, b' ', ..] if state.is_ascii_lowercase())
}

/// What was cut within a character is cut before it. In a result it may have been cut within anything.
fn shortened(text: &[u8], cut: bool) -> &[u8] {
    match std::str::from_utf8(text) {
        Err(error) if cut && error.error_len().is_none() => &text[..error.valid_up_to()],
        _ => text,
    }
}

/// A record that has ended.
fn ended(record: &Record<'_>, left: Option<Duration>) -> Summary {
    let state = match &record.state {
        State::Failed(error) => Shown::Failed { last_error: (*error).into() },
        State::Completed(_) | State::InProgress { .. } => Shown::Completed(()),
    };
    let owner = if record.owner == "-" { "" } else { record.owner };
    let expires_in = left.map_or(Retention::Forever, Retention::For);
    Inspected {
        token: record.token,
        attempt: record.attempt,
        owner: owner.into(),
        fingerprint: record.fingerprint,
        state,
        expires_in,
    }
}

/// The same without its result.
fn summary(inspected: Inspected) -> Summary {
    let state = match inspected.state {
        Shown::InProgress { remaining, silent_for, lease, begun, given_up } => {
            Shown::InProgress { remaining, silent_for, lease, begun, given_up }
        }
        Shown::Failed { last_error } => Shown::Failed { last_error },
        Shown::Completed(_) => Shown::Completed(()),
    };
    let Inspected { token, attempt, owner, fingerprint, expires_in, .. } = inspected;
    Inspected { token, attempt, owner, fingerprint, state, expires_in }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_pattern_has_a_meaning() {
        assert_eq!(pattern("order:"), "order:*");
        assert_eq!(pattern("a*b?[c]\\^d-"), "a\\*b\\?\\[c\\]\\\\\\^d\\-*");
        assert_eq!(pattern(""), "*");
    }

    #[test]
    fn a_place_comes_back_and_nothing_else_is_one() {
        let place = Place { server: 3, identity: u64::MAX, cursor: 17 };
        let read = Place::read(&place.written()).expect("what was written");
        assert_eq!((read.server, read.identity, read.cursor), (3, u64::MAX, 17));
        for wrong in ["", "3", "3.1", "3.x.1", "3.1.1.1", "-1.1.1"] {
            assert!(Place::read(&Cursor::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_looks_like_a_record_does_so_in_every_format() {
        for text in ["1p x", "2c x", "12f x"] {
            assert!(looks_like_one(text.as_bytes()), "{text}");
        }
        for text in ["", "1", "1p", "p x", "{}", "1.5 x", "1234p x", "1P x"] {
            assert!(!looks_like_one(text.as_bytes()), "{text}");
        }
    }
}
