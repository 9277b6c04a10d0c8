//! First calls of steps: the claim and the completion of a field, each a script that does no more than it must.
//!
//! A field says until when it is kept, by the server's clock. To ask for the time and to write it costs a script more than
//! to write the record. So the claim's script tells the client when it wrote, and a completion that comes a moment later
//! counts on from there on the client's clock: a duration, as leases are. What the answer took to come is lost on the way:
//! a tenth of a second at the most, of a minute at least.

use std::time::Duration;

use redis::{RedisWrite as _, Value};

use super::RedisStore;
use super::commands::{ROOM, Taken, call, keep, length, unexpected};
use super::error::Failure;
use super::heads::Head;
use super::scripts::{COMPLETE_TAKEN, TAKE};
use super::value::{self, Put as _};
use crate::clock::{Clock, Moment};
use crate::key::Key;
use crate::record::Recorded;
use crate::store::{ClaimRequest, Retention, StoreError};
use crate::token::Token;

/// A claim that is older is completed by the server's own time: what two clocks differ by grows.
const FRESH: Duration = Duration::from_secs(10);

/// So is one whose answer took longer.
const PROMPT: Duration = Duration::from_millis(100);

/// So is a record that is kept for less than this, in ms.
const LONG: u64 = 60_000;

/// The Hash is kept for as much longer than the claim asks, in ms: so a completion of what is still fresh finds that it lasts.
const AHEAD: u64 = 15_000;

/// When a claim was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// For how long, in ms.
    kept: u64,
    /// In ms of the server's clock.
    at: u64,
    /// When that was known here.
    told: Moment,
}

impl Written {
    /// What the claim's script has told; `None` where it took too long to come.
    fn told(until: u64, kept: u64, sent: Moment) -> Option<Self> {
        let told = Clock::Machine.now();
        (told.since(sent) <= PROMPT).then_some(Self { kept, at: until.saturating_sub(kept), told })
    }

    /// The server's time now in ms, or a little earlier; `None` where the claim was written too long ago.
    fn now(self) -> Option<u64> {
        let age = Clock::Machine.now().since(self.told);
        (age < FRESH).then(|| self.at + u64::try_from(age.as_millis()).unwrap_or(0))
    }
}

impl RedisStore {
    /// Claims a field that is absent, and shows one that is not.
    pub(super) async fn take_field(
        &self,
        key: &Key,
        head: &[u8],
        request: &ClaimRequest<'_>,
    ) -> Result<Taken, Failure> {
        let kept = value::in_progress_millis(request.kept());
        let mut command = call(&TAKE, key, 4, ROOM + request.owner.len());
        command.writer_for_next_arg().put_claim(head, request);
        command.arg(kept).arg(if kept < LONG { kept } else { kept.saturating_add(AHEAD) });
        let sent = Clock::Machine.now();
        let (value, copied) = self.run_copied(&TAKE, key, &mut command).await?;
        let Value::Int(until) = value else { return Ok(Taken { value, copied, written: None }) };
        // A claim that is kept for no longer than it is fresh may be over by the time it is completed.
        let until = u64::try_from(until).unwrap_or(0);
        let written = if kept < LONG { None } else { Written::told(until, kept, sent) };
        Ok(Taken { value: Value::Nil, copied, written })
    }

    /// Completes what was taken a moment ago; `false` where that is for the server to decide.
    pub(super) async fn complete_taken(
        &self,
        key: &Key,
        token: Token,
        head: &Head,
        result: &Recorded,
        retention: Retention,
    ) -> Result<bool, StoreError> {
        let kept = value::kept(retention);
        let Some(written) = head.written.filter(|_| kept.is_none_or(|kept| kept >= LONG)) else { return Ok(false) };
        let Some(now) = written.now() else { return Ok(false) };
        let mut command = call(&COMPLETE_TAKEN, key, 5, ROOM + head.text.len() + length(result));
        let mut in_progress = command.writer_for_next_arg();
        in_progress.put(b"1p ");
        in_progress.put(token.text().as_bytes());
        drop(in_progress);
        let mut record = command.writer_for_next_arg();
        record.put(b"until=");
        match kept {
            Some(millis) => record.put_number(now + millis),
            None => record.put(b"forever"),
        }
        record.put(b" 1c ");
        record.put(&head.text);
        record.put_result(result);
        drop(record);
        keep(&mut command, retention);
        // Fresh and prompt as it is, the claim was written less than `AHEAD` ago.
        command.arg(if kept.is_some_and(|kept| kept <= written.kept) { "kept" } else { "" });
        match self.run_copied(&COMPLETE_TAKEN, key, &mut command).await {
            Ok((Value::Int(1), copied)) => copied.enough().map(|()| true),
            Ok((Value::Int(0), _)) | Err(Failure::WrongType) => Ok(false),
            Ok((other, _)) => Err(unexpected(&other)),
            Err(failure) => Err(failure.into_error()),
        }
    }
}
