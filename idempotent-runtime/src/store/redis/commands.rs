//! The commands: what each operation sends, and what it makes of the answer.
//!
//! A command is built from bytes in one buffer, without a `String`: most of the client's time goes here.

use std::io::Write as _;
use std::sync::Arc;

use redis::{Cmd, RedisWrite as _, Value};

use super::RedisStore;
use super::error::Failure;
use super::scripts::{self, Script};
use super::value::{self, Malformed, Record, State};
use crate::key::Key;
use crate::record::{Completed, Recorded};
use crate::store::{
    Acquired, Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, OnLapse, Release, Retention, StoreError,
};
use crate::token::Token;

/// Bytes of a command besides the key, the owner and the result.
const ROOM: usize = 192;

impl RedisStore {
    /// The common claim is one plain command: what answers nothing was absent, and is ours. A completed record is
    /// judged here, since it does not change any more; all else is decided on the server.
    pub(super) async fn claim_record(&self, key: &Key, request: &ClaimRequest<'_>) -> Result<ClaimAnswer, StoreError> {
        if request.fenced {
            return Box::pin(self.claim_by_script(key, request)).await;
        }
        let mut command = Cmd::with_capacity(7, ROOM + key.as_str().len() + request.owner.len());
        command.arg("SET").arg(key.as_str());
        write(&mut command, |out| value::write_claim(out, request));
        command.arg("NX").arg("PX").arg(value::in_progress_millis(request.retention)).arg("GET");
        let found = match self.connections.send(&command).await {
            Ok(Value::Nil) => {
                return Ok(ClaimAnswer::Acquired(Acquired { attempt: 1, found: crate::store::Found::Absent, fence: None }));
            }
            Ok(Value::BulkString(text)) => text,
            Ok(other) => return Err(unexpected(&other)),
            Err(Failure::WrongType) => return Ok(wrong_type(key)),
            Err(failure) => return Err(failure.into_error()),
        };
        match Record::decode(&found) {
            Err(malformed) => Ok(unreadable(key, malformed)),
            Ok(record) if matches!(record.state, State::Completed(_)) => match judge(key, record, request) {
                Some(answer) => Ok(answer),
                None => Box::pin(self.claim_by_script(key, request)).await,
            },
            Ok(_) => Box::pin(self.claim_by_script(key, request)).await,
        }
    }

    async fn claim_by_script(&self, key: &Key, request: &ClaimRequest<'_>) -> Result<ClaimAnswer, StoreError> {
        let answer = self.eval(&scripts::CLAIM, key, 10, |command| {
            command.arg(request.token.text().as_bytes());
            write(command, |out| value::write_owner(out, request.owner));
            write(command, |out| value::write_fingerprint(out, request.fingerprint));
            command.arg(value::millis(request.lease)).arg(value::in_progress_millis(request.retention));
            command.arg(match request.on_lapse {
                OnLapse::TakeOver => "take-over",
                OnLapse::Hold => "hold",
            });
            command.arg(request.max_attempts.map_or(0, std::num::NonZero::get));
            match request.supersede {
                Some(token) => command.arg(token.text().as_bytes()),
                None => command.arg(""),
            };
            command.arg(value::mark(request.begun)).arg(if request.fenced { "fenced" } else { "" });
        });
        match answer.await {
            Ok(answer) => read_claim(key, &answer),
            Err(Failure::WrongType) => Ok(wrong_type(key)),
            Err(failure) => Err(failure.into_error()),
        }
    }

    pub(super) async fn begin_record(&self, key: &Key, token: Token) -> Result<Answer, StoreError> {
        held(self.eval(&scripts::BEGIN, key, 1, |command| drop(command.arg(token.text().as_bytes()))).await)
    }

    pub(super) async fn renew_record(&self, key: &Key, token: Token) -> Result<Answer, StoreError> {
        held(self.eval(&scripts::RENEW, key, 1, |command| drop(command.arg(token.text().as_bytes()))).await)
    }

    pub(super) async fn complete_record(
        &self,
        key: &Key,
        token: Token,
        result: &Recorded,
        retention: Retention,
    ) -> Result<CompleteAnswer, StoreError> {
        let answer = self.eval(&scripts::COMPLETE, key, 3, |command| {
            write(command, |out| {
                out.write_all(b"1p ")?;
                out.write_all(token.text().as_bytes())
            });
            write(command, |out| value::write_result(out, result));
            keep(command, retention);
        });
        match answer.await {
            Ok(Value::Int(1)) => Ok(CompleteAnswer::Held),
            Ok(Value::Int(0)) => Ok(CompleteAnswer::Absent),
            Ok(Value::BulkString(text)) => {
                Ok(CompleteAnswer::Lost(Record::decode(&text).ok().and_then(Record::completed)))
            }
            Ok(other) => Err(unexpected(&other)),
            Err(Failure::WrongType) => Ok(CompleteAnswer::Lost(None)),
            Err(failure) => Err(failure.into_error()),
        }
    }

    pub(super) async fn release_record(
        &self,
        key: &Key,
        token: Token,
        release: Release<'_>,
        lease: std::time::Duration,
    ) -> Result<Answer, StoreError> {
        let answer = self.eval(&scripts::RELEASE, key, 4, |command| {
            command.arg(token.text().as_bytes());
            match release {
                Release::Failed(message) => {
                    command.arg("failed");
                    write(command, |out| value::write_message(out, message));
                }
                Release::GivenUp => drop(command.arg("given-up").arg("given up")),
            }
            command.arg(value::millis(lease.saturating_mul(2)));
        });
        held(answer.await)
    }

    pub(super) async fn put_record_back(
        &self,
        key: &Key,
        token: Token,
        lease: std::time::Duration,
        superseded: Option<(&Completed, Retention)>,
    ) -> Result<Answer, StoreError> {
        let answer = self.eval(&scripts::PUT_BACK, key, 4, |command| {
            command.arg(token.text().as_bytes()).arg(value::millis(lease.saturating_mul(2)));
            if let Some((completed, retention)) = superseded {
                write(command, |out| value::write_result(out, &completed.result));
                keep(command, retention);
            } else {
                command.arg("").arg("");
            }
        });
        held(answer.await)
    }

    /// Runs a script on one key; loads it first where the server has lost it.
    async fn eval(
        &self,
        script: &'static Script,
        key: &Key,
        arguments: usize,
        write: impl FnOnce(&mut Cmd),
    ) -> Result<Value, Failure> {
        let mut command = Cmd::with_capacity(4 + arguments, ROOM + key.as_str().len());
        command.arg("EVALSHA").arg(script.hash()).arg("1").arg(key.as_str());
        write(&mut command);
        match self.connections.send(&command).await {
            Err(Failure::NoScript) => {
                let mut load = Cmd::with_capacity(3, script.source().len() + 16);
                load.arg("SCRIPT").arg("LOAD").arg(script.source());
                Box::pin(async {
                    self.connections.send(&load).await?;
                    self.connections.send(&command).await
                }).await
            }
            answer => answer,
        }
    }
}

/// Writes one argument in place.
fn write(command: &mut Cmd, argument: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) {
    let mut out = command.writer_for_next_arg();
    // Writing to memory does not fail.
    let _ = argument(&mut out);
}

/// How long to keep a record, `''` for ever.
fn keep(command: &mut Cmd, retention: Retention) {
    match retention {
        Retention::For(duration) => command.arg(value::millis(duration)),
        Retention::Forever => command.arg(""),
    };
}

/// What a completed record means to a claim; `None` where the server has to decide.
fn judge(key: &Key, record: Record<'_>, request: &ClaimRequest<'_>) -> Option<ClaimAnswer> {
    let own = record.token == request.token;
    let matches = match (request.fingerprint, record.fingerprint) {
        (Some(ours), Some(its)) if !own => ours.matches(its),
        _ => Some(true),
    };
    Some(match matches {
        None => incomparable(key),
        Some(false) => ClaimAnswer::Mismatch,
        Some(true) if !own && request.supersede == Some(record.token) => return None,
        Some(true) => ClaimAnswer::Completed(record.completed()?),
    })
}

fn read_claim(key: &Key, answer: &Value) -> Result<ClaimAnswer, StoreError> {
    let Value::Array(parts) = answer else { return Err(unexpected(answer)) };
    let [Value::BulkString(word), Value::Int(remaining), Value::BulkString(text)] = parts.as_slice() else {
        return Err(unexpected(answer));
    };
    let record = match Record::decode(text) {
        Ok(record) => record,
        Err(malformed) => return Ok(unreadable(key, malformed)),
    };
    let attempt = record.attempt;
    Ok(match word.as_slice() {
        b"acquired" => match record.state {
            State::InProgress { found } => ClaimAnswer::Acquired(Acquired { attempt, found, fence: record.fence }),
            _ => return Err(unexpected(answer)),
        },
        b"in-progress" => ClaimAnswer::InProgress {
            remaining: std::time::Duration::from_millis(u64::try_from(*remaining).unwrap_or(0)),
            attempt,
            owner: record.owner.into(),
        },
        b"abandoned" => ClaimAnswer::Abandoned { attempt, owner: record.owner.into() },
        b"exhausted" => ClaimAnswer::Exhausted { attempt },
        b"mismatch" => ClaimAnswer::Mismatch,
        b"lost" => ClaimAnswer::Lost,
        b"completed" => match record.completed() {
            Some(completed) => ClaimAnswer::Completed(completed),
            None => return Err(unexpected(answer)),
        },
        b"persisted" => unreadable(key, Malformed("it is in progress, and somebody removed its expiry (PERSIST)")),
        b"incomparable" => incomparable(key),
        b"unreadable" => unreadable(key, Malformed("it is malformed")),
        _ => return Err(unexpected(answer)),
    })
}

fn held(answer: Result<Value, Failure>) -> Result<Answer, StoreError> {
    match answer {
        Ok(Value::Int(1)) => Ok(Answer::Held),
        Ok(Value::Int(0)) | Err(Failure::WrongType) => Ok(Answer::Lost),
        Ok(other) => Err(unexpected(&other)),
        Err(failure) => Err(failure.into_error()),
    }
}

fn unreadable(key: &Key, Malformed(why): Malformed) -> ClaimAnswer {
    ClaimAnswer::Unreadable(Arc::from(format!("the record at `{key}` cannot be read: {why}")))
}

fn incomparable(key: &Key) -> ClaimAnswer {
    unreadable(key, Malformed("its fingerprint was computed by another version"))
}

fn wrong_type(key: &Key) -> ClaimAnswer {
    unreadable(key, Malformed("the key holds another type than a string (WRONGTYPE)"))
}

fn unexpected(answer: &Value) -> StoreError {
    StoreError::refused(format!("the server gave an answer that makes no sense here: {answer:?}"))
}
