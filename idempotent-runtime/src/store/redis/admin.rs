//! Administration of the records in Redis.

use std::time::Duration;

use redis::{Cmd, RedisWrite as _, Value};

use super::RedisStore;
use super::commands::{PERSISTED, call, keep, length, other_type, unexpected, unreadable_text};
use super::error::Failure;
use super::findings::Finding;
use super::scripts::{self, Script};
use super::value::{self, Malformed, Put as _, Record, State};
use crate::admin::{self, Admin, Change, Changed, Concern, Inspected, Leases, Marks, Page, Query, Seen, Swept};
use crate::key::Key;
use crate::store::{Reply, Retention, StoreError};
use crate::token::Token;

impl Admin for RedisStore {
    fn inspect<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Inspected>> {
        Box::pin(async move {
            let script = &scripts::of(key).inspect;
            match self.run(script, key, &mut call(script, key, 1, 0)).await {
                Ok(answer) => read(key, &answer),
                Err(Failure::WrongType) => Err(unreadable(key, other_type(key))),
                Err(failure) => Err(failure.into_error()),
            }
        })
    }

    fn change<'a>(&'a self, key: &'a Key, seen: &'a Inspected, change: &'a Change) -> Reply<'a, Changed> {
        Box::pin(async move {
            let room = match change {
                Change::Resolve { result, .. } => length(result),
                Change::Release { reason } | Change::AllowOneMore { reason } => reason.len(),
            };
            let script = &scripts::of(key).change;
            let mut command = call(script, key, 10, 256 + room);
            put_seen(&mut command, seen.seen());
            // A token that no call has: the claim that stood here can neither renew nor complete.
            let nobody = Token::random().text();
            match change {
                Change::Resolve { result, retention } => {
                    command.arg("resolve").writer_for_next_arg().put_result(result);
                    keep(&mut command, *retention);
                    command.arg("")
                }
                Change::Release { reason } => {
                    command.arg("fail").arg(&**reason).arg(nobody.as_bytes()).arg(seen.runs())
                }
                Change::AllowOneMore { reason } => {
                    let runs = seen.runs().saturating_sub(1);
                    command.arg("fail").arg(&**reason).arg(nobody.as_bytes()).arg(runs)
                }
            };
            self.change_record(key, script, command).await
        })
    }

    fn list<'a>(&'a self, query: &'a Query) -> Reply<'a, Page> {
        Box::pin(self.page(query))
    }

    fn remove<'a>(&'a self, key: &'a Key, seen: Seen, leases: Leases) -> Reply<'a, Changed> {
        Box::pin(async move {
            let script = &scripts::of(key).change;
            let mut command = call(script, key, 10, 256);
            put_seen(&mut command, seen);
            command.arg(match leases {
                Leases::Respected => "remove",
                Leases::Broken => "break",
            });
            command.arg("").arg("").arg("");
            self.change_record(key, script, command).await
        })
    }

    fn sweep(&self, _: u32) -> Reply<'_, Swept> {
        Box::pin(async { Ok(Swept::ByItself) })
    }

    fn check(&self) -> Reply<'_, Vec<Concern>> {
        Box::pin(async {
            let findings = RedisStore::check(self).await?;
            let concern = |finding: Finding| Concern::new(finding.severity(), &finding, finding.advice());
            Ok(findings.into_iter().map(concern).collect())
        })
    }
}

impl RedisStore {
    /// Runs the script that changes a record by a person's hand, and tells whoever waits.
    async fn change_record(&self, key: &Key, script: &'static Script, mut command: Cmd) -> Result<Changed, StoreError> {
        self.publish(&mut command, key);
        match self.run(script, key, &mut command).await {
            Ok(Value::Int(1)) => Ok(Changed::Done),
            Ok(Value::Int(0)) | Err(Failure::WrongType) => Ok(Changed::Moved),
            Ok(other) => Err(unexpected(&other)),
            Err(failure) => Err(failure.into_error()),
        }
    }
}

/// What must be the same, as the first three arguments.
fn put_seen(command: &mut Cmd, Seen { token, attempt, marks }: Seen) {
    let (state, mark) = match marks {
        Marks::InProgress { begun, given_up: true } => (b"1g ", value::mark(begun)),
        Marks::InProgress { begun, given_up: false } => (b"1p ", value::mark(begun)),
        Marks::Failed => (b"1f ", ""),
        Marks::Completed => (b"1c ", ""),
    };
    let mut standing = command.writer_for_next_arg();
    standing.put(state);
    standing.put(token.text().as_bytes());
    drop(standing);
    command.arg(attempt).arg(mark);
}

/// Reads what `inspect.lua` answers.
pub(super) fn read(key: &Key, answer: &Value) -> Result<Option<Inspected>, StoreError> {
    let Value::Array(parts) = answer else { return Err(unexpected(answer)) };
    let (text, left) = match parts.as_slice() {
        [Value::Nil, _] => return Ok(None),
        [Value::BulkString(text), Value::Int(left)] => (text, u64::try_from(*left).ok()),
        _ => return Err(unexpected(answer)),
    };
    let Record { token, attempt, owner, fingerprint, state, .. } =
        Record::read(text).map_err(|malformed| unreadable(key, malformed))?;
    let left = left.map(Duration::from_millis);
    let state = match state {
        State::InProgress { lease, kept, begun, given_up, .. } => {
            let left = left.ok_or_else(|| unreadable(key, PERSISTED))?;
            let since_renewal = kept.saturating_sub(left);
            let remaining = if given_up { Duration::ZERO } else { lease.saturating_sub(since_renewal) };
            admin::State::InProgress { remaining, silent_for: since_renewal, lease, begun, given_up }
        }
        State::Failed(error) => admin::State::Failed { last_error: error.into() },
        State::Completed(result) => admin::State::Completed(result),
    };
    let owner = if owner == "-" { "" } else { owner };
    let expires_in = left.map_or(Retention::Forever, Retention::For);
    Ok(Some(Inspected { token, attempt, owner: owner.into(), fingerprint, state, expires_in }))
}

fn unreadable(key: &Key, malformed: Malformed) -> StoreError {
    StoreError::unreadable(unreadable_text(key, malformed))
}
