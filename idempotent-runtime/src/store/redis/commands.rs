//! The commands: what each operation sends, and what it makes of the answer.
//!
//! A command is built from bytes in one buffer, without a `String`: most of the client's time goes here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{Cmd, RedisWrite as _, Value};

use super::RedisStore;
use super::error::Failure;
use super::fields::Written;
use super::heads::Head;
use super::replicas::Copied;
use super::scripts::{self, Script};
use super::value::{self, Malformed, Put as _, Record, State};
use crate::key::Key;
use crate::record::{Completed, Recorded};
use crate::store::{
    Acquired, Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Found, OnLapse, Release, Retention, StoreError,
};
use crate::token::Token;

/// A run that was over so soon after its claim wakes nobody: waiters look at least as often in the beginning, and first
/// calls whose end nobody waits for are to cost the server nothing more.
const BRIEF: Duration = Duration::from_millis(20);

/// Bytes of a command besides its key, owner, error and result.
pub(super) const ROOM: usize = 176;

/// What the common claim came to.
pub(super) struct Taken {
    /// Nothing, where it is ours; else what stands.
    pub(super) value: Value,
    pub(super) copied: Copied,
    /// When it was written, where that was told.
    pub(super) written: Option<Written>,
}

impl RedisStore {
    /// The common claim is one plain command: what answers nothing was absent, and is ours. A completed record is
    /// judged here, since it does not change any more; all else is decided on the server.
    pub(super) async fn claim_record(&self, key: &Key, request: &ClaimRequest<'_>) -> Result<ClaimAnswer, StoreError> {
        if request.fenced {
            return Box::pin(self.claim_by_script(key, request)).await;
        }
        let asked = Instant::now();
        let mut head = Vec::with_capacity(64 + request.owner.len());
        head.put_head(request);
        let answer = match self.take(key, &head, request).await {
            Ok(Taken { value: Value::Nil, copied, written }) => {
                copied.enough()?;
                self.heads.remember(key, request.token, Head { text: head, asked, written });
                Some(ClaimAnswer::Acquired(Acquired { attempt: 1, found: Found::Absent, fence: None }))
            }
            Ok(Taken { value: Value::BulkString(text), .. }) => judge(key, &text, request),
            Ok(Taken { value, .. }) => return Err(unexpected(&value)),
            Err(Failure::WrongType) => Some(wrong_type(key)),
            Err(failure) => return Err(failure.into_error()),
        };
        match answer {
            Some(answer) => Ok(answer),
            None => Box::pin(self.claim_by_script(key, request)).await,
        }
    }

    /// Claims what is absent, and shows what is not: one round trip, without the claim's script.
    async fn take(&self, key: &Key, head: &[u8], request: &ClaimRequest<'_>) -> Result<Taken, Failure> {
        if key.step().is_some() {
            return self.take_field(key, head, request).await;
        }
        let room = ROOM + request.owner.len() + key.as_str().len();
        let kept = value::in_progress_millis(request.kept());
        let mut command = Cmd::with_capacity(7, room);
        command.arg("SET").arg(key.as_str());
        command.writer_for_next_arg().put_claim(head, request);
        command.arg("NX").arg("PX").arg(kept).arg("GET");
        let (value, copied) = self.send_copied(&command).await?;
        Ok(Taken { value, copied, written: None })
    }

    async fn claim_by_script(&self, key: &Key, request: &ClaimRequest<'_>) -> Result<ClaimAnswer, StoreError> {
        // What the script writes differs from what an earlier message of this claim may have written.
        self.heads.take(key, request.token);
        let script = &scripts::of(key).claim;
        let mut command = call(script, key, 12, ROOM + request.owner.len());
        command.arg(request.token.text().as_bytes());
        command.writer_for_next_arg().put_owner(request.owner);
        command.writer_for_next_arg().put_fingerprint(request.fingerprint);
        command.arg(value::millis(request.lease));
        command.arg(value::in_progress_millis(request.retention)).arg(value::in_progress_millis(request.held));
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
        match self.run_copied(script, key, &mut command).await {
            Ok((answer, copied)) => {
                let answer = read_claim(key, &answer)?;
                if matches!(answer, ClaimAnswer::Acquired(_)) {
                    copied.enough()?;
                }
                Ok(answer)
            }
            Err(Failure::WrongType) => Ok(wrong_type(key)),
            Err(failure) => Err(failure.into_error()),
        }
    }

    pub(super) async fn begin_record(&self, key: &Key, token: Token) -> Result<Answer, StoreError> {
        let script = &scripts::of(key).begin;
        let mut command = call(script, key, 2, ROOM);
        held_copied(self.run_copied(script, key, command.arg(token.text().as_bytes())).await)
    }

    pub(super) async fn renew_record(&self, key: &Key, token: Token) -> Result<Answer, StoreError> {
        let script = &scripts::of(key).renew;
        let mut command = call(script, key, 2, ROOM);
        held_copied(self.run_copied(script, key, command.arg(token.text().as_bytes())).await)
    }

    pub(super) async fn complete_record(
        &self,
        key: &Key,
        token: Token,
        result: &Recorded,
        retention: Retention,
    ) -> Result<CompleteAnswer, StoreError> {
        let head = self.heads.take(key, token);
        let is_brief = head.as_ref().is_some_and(|head| head.asked.elapsed() < BRIEF);
        if let Some(head) = head.as_ref().filter(|_| is_brief)
            && self.complete_taken(key, token, head, result, retention).await?
        {
            return Ok(CompleteAnswer::Held);
        }
        let room = ROOM + head.as_ref().map_or(0, |head| head.text.len()) + length(result);
        let script = &scripts::of(key).complete;
        let mut command = call(script, key, 7, room);
        let mut in_progress = command.writer_for_next_arg();
        in_progress.put(b"1p ");
        in_progress.put(token.text().as_bytes());
        drop(in_progress);
        let mut record = command.writer_for_next_arg();
        if let Some(head) = &head {
            record.put(b"1c ");
            record.put(&head.text);
        }
        record.put_result(result);
        drop(record);
        keep(&mut command, retention);
        if !is_brief {
            command.arg(if head.is_none() { "result" } else { "" });
            self.publish(&mut command, key);
        }
        match self.run_copied(script, key, &mut command).await {
            Ok((Value::Int(1), copied)) => copied.enough().map(|()| CompleteAnswer::Held),
            Ok((Value::Int(0), _)) => Ok(CompleteAnswer::Absent),
            Ok((Value::BulkString(text), _)) => {
                Ok(CompleteAnswer::Lost(Record::read(&text).ok().and_then(Record::completed)))
            }
            Ok((other, _)) => Err(unexpected(&other)),
            Err(Failure::WrongType) => Ok(CompleteAnswer::Lost(None)),
            Err(failure) => Err(failure.into_error()),
        }
    }

    pub(super) async fn release_record(
        &self,
        key: &Key,
        token: Token,
        release: Release<'_>,
        lease: Duration,
    ) -> Result<Answer, StoreError> {
        self.heads.take(key, token);
        let (how, error) = match release {
            Release::Failed(error) => ("failed", error),
            Release::GivenUp => ("given-up", ""),
        };
        let script = &scripts::of(key).release;
        let mut command = call(script, key, 10, ROOM + error.len());
        command.arg(token.text().as_bytes()).arg(how).arg(error).arg(value::millis(lease.saturating_mul(2)));
        command.arg("").arg("").arg("");
        self.publish(&mut command, key);
        held(self.run(script, key, &mut command).await)
    }

    pub(super) async fn put_record_back(
        &self,
        key: &Key,
        token: Token,
        lease: Duration,
        superseded: Option<(&Completed, Retention)>,
    ) -> Result<Answer, StoreError> {
        self.heads.take(key, token);
        let room = ROOM + superseded.map_or(0, |(completed, _)| length(&completed.result));
        let script = &scripts::of(key).release;
        let mut command = call(script, key, 10, room);
        command.arg(token.text().as_bytes()).arg("put-back").arg("").arg(value::millis(lease.saturating_mul(2)));
        match superseded {
            Some((completed, retention)) => {
                command.writer_for_next_arg().put_result(&completed.result);
                keep(&mut command, retention);
                command.arg(completed.token.text().as_bytes());
            }
            None => drop(command.arg("").arg("").arg("")),
        }
        self.publish(&mut command, key);
        held(self.run(script, key, &mut command).await)
    }

    /// How a script is to tell that a run has ended: the command and the channel.
    pub(super) fn publish(&self, command: &mut Cmd, key: &Key) {
        let spread = self.connections.spread();
        match spread.channel(key) {
            Some(channel) => command.arg(spread.publish()).arg(channel),
            None => command.arg("").arg(""),
        };
    }

    /// Runs a script, whose arguments end with the field if the record is one; loads it first where the server has lost
    /// it.
    pub(super) async fn run(&self, script: &'static Script, key: &Key, command: &mut Cmd) -> Result<Value, Failure> {
        end_with_field(command, key);
        self.run_as_it_is(script, command).await
    }

    async fn run_as_it_is(&self, script: &'static Script, command: &Cmd) -> Result<Value, Failure> {
        match self.connections.send(command).await {
            Err(Failure::NoScript) => {
                Box::pin(async {
                    self.load(script).await?;
                    self.connections.send(command).await
                })
                .await
            }
            answer => answer,
        }
    }

    /// The same for a script whose write is to be copied, where copies are asked for.
    pub(super) async fn run_copied(
        &self,
        script: &'static Script,
        key: &Key,
        command: &mut Cmd,
    ) -> Result<(Value, Copied), Failure> {
        end_with_field(command, key);
        if self.replicas.is_none() {
            return Ok((self.run_as_it_is(script, command).await?, Copied::Enough));
        }
        match self.send_copied(command).await {
            Err(Failure::NoScript) => {
                Box::pin(async {
                    self.load(script).await?;
                    self.send_copied(command).await
                })
                .await
            }
            answer => answer,
        }
    }

    /// Sends a write that is to be copied, where copies are asked for.
    async fn send_copied(&self, command: &Cmd) -> Result<(Value, Copied), Failure> {
        match self.replicas {
            None => Ok((self.connections.send(command).await?, Copied::Enough)),
            Some(replicas) => Box::pin(self.connections.send_copied(command, replicas)).await,
        }
    }

    async fn load(&self, script: &'static Script) -> Result<(), Failure> {
        let mut load = Cmd::with_capacity(3, script.source().len() + 16);
        load.arg("SCRIPT").arg("LOAD").arg(script.source());
        self.connections.send(&load).await.map(drop)
    }
}

/// The last argument of a script on a field.
fn end_with_field(command: &mut Cmd, key: &Key) {
    if let Some(step) = key.step() {
        command.arg(step);
    }
}

/// The beginning of a script's call on one record.
pub(super) fn call(script: &Script, key: &Key, arguments: usize, room: usize) -> Cmd {
    let mut command = Cmd::with_capacity(4 + arguments, room + key.as_str().len());
    command.arg("EVALSHA").arg(script.hash()).arg("1").arg(key.entity());
    command
}

/// How long to keep a record, `''` for ever.
pub(super) fn keep(command: &mut Cmd, retention: Retention) {
    match value::kept(retention) {
        Some(millis) => command.arg(millis),
        None => command.arg(""),
    };
}

/// Room for a result.
pub(super) fn length(result: &Recorded) -> usize {
    match result {
        Recorded::Value(encoded) | Recorded::Error(encoded) => 16 + encoded.bytes.len(),
        Recorded::Rejected(summary) => 16 + summary.len(),
        Recorded::Nothing(_) => 32,
    }
}

/// What a record that was found means to a claim; `None` where the server has to decide.
fn judge(key: &Key, text: &[u8], request: &ClaimRequest<'_>) -> Option<ClaimAnswer> {
    let record = match Record::read(text) {
        Ok(record) if matches!(record.state, State::Completed(_)) => record,
        Ok(_) => return None,
        Err(malformed) => return Some(unreadable(key, malformed)),
    };
    if record.token == request.token {
        return record.completed().map(ClaimAnswer::Completed);
    }
    match request.fingerprint.zip(record.fingerprint).map_or(Some(true), |(ours, its)| ours.matches(its)) {
        None => Some(incomparable(key)),
        Some(false) => Some(ClaimAnswer::Mismatch),
        Some(true) if request.supersede == Some(record.token) => None,
        Some(true) => record.completed().map(ClaimAnswer::Completed),
    }
}

fn read_claim(key: &Key, answer: &Value) -> Result<ClaimAnswer, StoreError> {
    let Value::Array(parts) = answer else { return Err(unexpected(answer)) };
    let [Value::BulkString(word), Value::Int(remaining), Value::BulkString(text)] = parts.as_slice() else {
        return Err(unexpected(answer));
    };
    let record = match Record::read(text) {
        Ok(record) => record,
        Err(malformed) => return Ok(unreadable(key, malformed)),
    };
    let (attempt, owner) = (record.attempt, record.owner);
    Ok(match (word.as_slice(), &record.state) {
        (b"acquired", State::InProgress { found, .. }) => {
            ClaimAnswer::Acquired(Acquired { attempt, found: *found, fence: record.fence })
        }
        (b"in-progress", _) => {
            let remaining = Duration::from_millis(u64::try_from(*remaining).unwrap_or(0));
            ClaimAnswer::InProgress { remaining, attempt, owner: owner.into() }
        }
        (b"abandoned", _) => ClaimAnswer::Abandoned { attempt, owner: owner.into() },
        // A claim that never began counts for no run.
        (b"exhausted", State::InProgress { begun: false, .. }) => {
            ClaimAnswer::Exhausted { attempt: attempt.saturating_sub(1) }
        }
        (b"exhausted", _) => ClaimAnswer::Exhausted { attempt },
        (b"mismatch", _) => ClaimAnswer::Mismatch,
        (b"lost", _) => ClaimAnswer::Lost,
        (b"completed", State::Completed(_)) => {
            record.completed().map(ClaimAnswer::Completed).ok_or_else(|| unexpected(answer))?
        }
        (b"persisted", _) => unreadable(key, PERSISTED),
        (b"incomparable", _) => incomparable(key),
        (b"unreadable", _) => unreadable(key, Malformed("it is malformed")),
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

/// The same for a write that does not count before it is copied.
fn held_copied(answer: Result<(Value, Copied), Failure>) -> Result<Answer, StoreError> {
    let (answer, copied) = match answer {
        Ok((value, copied)) => (Ok(value), copied),
        Err(failure) => (Err(failure), Copied::Enough),
    };
    let answer = held(answer)?;
    if answer == Answer::Held {
        copied.enough()?;
    }
    Ok(answer)
}

/// When the lease began cannot be told any more.
pub(super) const PERSISTED: Malformed = Malformed("it is in progress, and somebody removed its expiry (PERSIST)");

pub(super) fn unreadable_text(key: &Key, Malformed(why): Malformed) -> String {
    format!("the record at `{key}` cannot be read: {why}")
}

fn unreadable(key: &Key, malformed: Malformed) -> ClaimAnswer {
    ClaimAnswer::Unreadable(Arc::from(unreadable_text(key, malformed)))
}

fn incomparable(key: &Key) -> ClaimAnswer {
    unreadable(key, Malformed("its fingerprint is of another version than the call's"))
}

/// What stands at the key is of another type than its layout.
pub(super) fn other_type(key: &Key) -> Malformed {
    Malformed(match key.step() {
        None => "the key holds another type than a string (WRONGTYPE)",
        Some(_) => "the key holds another type than a Hash (WRONGTYPE)",
    })
}

fn wrong_type(key: &Key) -> ClaimAnswer {
    unreadable(key, other_type(key))
}

pub(super) fn unexpected(answer: &Value) -> StoreError {
    StoreError::refused(format!("the server gave an answer that makes no sense here: {answer:?}"))
}
