//! The text of a record: one value, one line for a person in `redis-cli`.
//!
//! ```text
//! 1p TOKEN@OWNER FINGERPRINT lease=30000/86400000 begun new
//! 1p TOKEN#2@OWNER FINGERPRINT lease=30000/86400000 claimed after-failed|1f …
//! 1g TOKEN@OWNER FINGERPRINT lease=30000/86400000 begun new
//! 1f TOKEN#2@OWNER FINGERPRINT failed: card declined
//! 1c TOKEN@OWNER FINGERPRINT json={"receipt":7}
//! ```
//!
//! - `1` is the version of the format; then the state: in *p*rogress, *g*iven up (in progress, and lapsed whatever the
//!   time), *f*ailed, *c*ompleted.
//! - The token has 22 characters and stands at a fixed place, so that a script can compare state and token at once.
//!   `#n` is the attempt, left out for the first; `^n` the fence, where there is one; `@` the owner, without spaces.
//! - The fingerprint has 22 characters, with its version and a dot in front unless that is 1; `-` is none.
//! - In progress: the writer's lease and retention in milliseconds, whether the run has begun, and what the claim
//!   found. What it found follows after `|`, where there was something, so that the claim can be put back.
//! - Completed: the codec's tag, `=` for a value or `!` for an error, and the codec's bytes; or `rejected: ` and the
//!   summary; or `nothing: ` and why.
//!
//! The scripts know this format too. Whatever is not written exactly so is unreadable, never "absent".

use std::io::{self, Write};
use std::time::Duration;

use crate::fingerprint::Fingerprint;
use crate::record::{CodecTag, Completed, Encoded, NoResult, Recorded};
use crate::store::{ClaimRequest, Found, Retention};
use crate::text64;
use crate::token::Token;

/// The longest time that a record in progress is kept, in milliseconds: 100 years. It stands for "for ever", so that
/// retention minus what is left of it always tells when the record was last renewed.
pub(super) const LONGEST_MS: u64 = 100 * 365 * 24 * 60 * 60 * 1000;

/// The longest error message that a failed record keeps, in bytes.
const LONGEST_MESSAGE: usize = 500;

const LONGEST_OWNER: usize = 64;

/// A record, read from its text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) token: Token,
    pub(super) attempt: u32,
    pub(super) fence: Option<u64>,
    pub(super) owner: &'a str,
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) state: State,
}

/// What state a record is in, with what belongs to that state.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    InProgress { found: Found },
    Failed,
    Completed(Recorded),
}

/// What is wrong with a text that is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

/// Milliseconds as the scripts count them: never zero, which Redis refuses, and never beyond what it can add to now.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).clamp(1, LONGEST_MS)
}

/// How long a record in progress is kept, in milliseconds.
pub(super) fn in_progress_millis(retention: Retention) -> u64 {
    match retention {
        Retention::For(duration) => millis(duration),
        Retention::Forever => LONGEST_MS,
    }
}

/// Writes a first claim, which found nothing.
pub(super) fn write_claim(out: &mut dyn Write, request: &ClaimRequest<'_>) -> io::Result<()> {
    out.write_all(b"1p ")?;
    out.write_all(request.token.text().as_bytes())?;
    out.write_all(b"@")?;
    write_owner(out, request.owner)?;
    out.write_all(b" ")?;
    write_fingerprint(out, request.fingerprint)?;
    let (lease, retention) = (millis(request.lease), in_progress_millis(request.retention));
    write!(out, " lease={lease}/{retention} {} new", mark(request.begun))
}

/// The word for a claim that has begun, or has not.
pub(super) fn mark(begun: bool) -> &'static str {
    if begun { "begun" } else { "claimed" }
}

/// Writes the owner, as printable ASCII without spaces whatever it is.
pub(super) fn write_owner(out: &mut dyn Write, owner: &str) -> io::Result<()> {
    if owner.is_empty() {
        out.write_all(b"-")
    } else if owner.len() <= LONGEST_OWNER && owner.bytes().all(|byte| byte.is_ascii_graphic()) {
        out.write_all(owner.as_bytes())
    } else {
        owner.chars().take(LONGEST_OWNER).try_for_each(|char| {
            out.write_all(&[u8::try_from(char).ok().filter(u8::is_ascii_graphic).unwrap_or(b'?')])
        })
    }
}

pub(super) fn write_fingerprint(out: &mut dyn Write, fingerprint: Option<Fingerprint>) -> io::Result<()> {
    let Some(fingerprint) = fingerprint else { return out.write_all(b"-") };
    let (version, digest) = fingerprint.parts();
    if version != 1 {
        write!(out, "{version}.")?;
    }
    out.write_all(&text64::encode_u128(digest))
}

/// Writes the message of a failed record: bounded, and on one line.
pub(super) fn write_message(out: &mut dyn Write, message: &str) -> io::Result<()> {
    let short = &message[..message.floor_char_boundary(LONGEST_MESSAGE)];
    for (at, line) in short.split(char::is_control).enumerate() {
        if at > 0 {
            out.write_all(b" ")?;
        }
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Writes what stands in a completed record after the fingerprint.
pub(super) fn write_result(out: &mut dyn Write, result: &Recorded) -> io::Result<()> {
    let mut encoded = |kind: &[u8], Encoded { codec, bytes }: &Encoded| {
        out.write_all(codec.as_str().as_bytes())?;
        out.write_all(kind)?;
        out.write_all(bytes)
    };
    match result {
        Recorded::Value(value) => encoded(b"=", value),
        Recorded::Error(error) => encoded(b"!", error),
        Recorded::Rejected(summary) => write!(out, "rejected: {summary}"),
        Recorded::Nothing(why) => write!(out, "nothing: {}", why_nothing(*why)),
    }
}

const fn why_nothing(why: NoResult) -> &'static str {
    match why {
        NoResult::NotWanted => "not wanted",
        NoResult::TooLarge => "too large",
        NoResult::NotSerialisable => "not serialisable",
    }
}

impl Record<'_> {
    /// Reads a record from its text.
    pub(super) fn decode(text: &[u8]) -> Result<Record<'_>, Malformed> {
        let (version, text) = text.split_first().ok_or(Malformed("it is empty"))?;
        if *version != b'1' {
            return Err(Malformed("it is not of format 1"));
        }
        let (state, text) = text.split_first().ok_or(Malformed("it ends before its state"))?;
        let text = text.strip_prefix(b" ").ok_or(Malformed("its state is malformed"))?;
        let (claim, text) = word(text).ok_or(Malformed("it ends before its fingerprint"))?;
        let (fingerprint, body) = word(text).ok_or(Malformed("it ends before its content"))?;
        let state = match state {
            b'p' | b'g' => decode_in_progress(body)?,
            b'f' if body.starts_with(b"failed: ") => State::Failed,
            b'f' => return Err(Malformed("its error is malformed")),
            b'c' => State::Completed(decode_result(body)?),
            _ => return Err(Malformed("its state is unknown")),
        };
        decode_claim(claim, decode_fingerprint(fingerprint)?, state)
    }
}

impl Record<'_> {
    /// The record as a completed one; `None` in any other state.
    pub(super) fn completed(self) -> Option<Completed> {
        let State::Completed(result) = self.state else { return None };
        Some(Completed { token: self.token, attempt: self.attempt, fingerprint: self.fingerprint, result })
    }
}

/// Splits at the first space.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&byte| byte == b' ')?;
    Some((&text[..at], &text[at + 1..]))
}

/// Splits off digits.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    Some((std::str::from_utf8(&text[..end]).ok()?.parse().ok()?, &text[end..]))
}

/// Reads `TOKEN[#attempt][^fence]@OWNER`.
fn decode_claim(text: &[u8], fingerprint: Option<Fingerprint>, state: State) -> Result<Record<'_>, Malformed> {
    let (token, mut rest) = text.split_at_checked(text64::U128_LEN).ok_or(Malformed("its token is too short"))?;
    let token = std::str::from_utf8(token).ok().and_then(Token::parse).ok_or(Malformed("its token is malformed"))?;
    let (mut attempt, mut fence) = (1, None);
    if let Some(text) = rest.strip_prefix(b"#") {
        let (value, after) = number(text).ok_or(Malformed("its attempt is malformed"))?;
        attempt = u32::try_from(value).map_err(|_| Malformed("its attempt is too large"))?;
        rest = after;
    }
    if let Some(text) = rest.strip_prefix(b"^") {
        let (value, after) = number(text).ok_or(Malformed("its fence is malformed"))?;
        fence = Some(value);
        rest = after;
    }
    let owner = rest.strip_prefix(b"@").filter(|owner| !owner.is_empty() && owner.iter().all(u8::is_ascii_graphic));
    let owner = owner.and_then(|owner| std::str::from_utf8(owner).ok()).ok_or(Malformed("its owner is malformed"))?;
    Ok(Record { token, attempt, fence, owner, fingerprint, state })
}

fn decode_fingerprint(text: &[u8]) -> Result<Option<Fingerprint>, Malformed> {
    if text == b"-" {
        return Ok(None);
    }
    let fingerprint = if text.contains(&b'.') {
        std::str::from_utf8(text).ok().and_then(Fingerprint::parse)
    } else {
        text64::decode_u128(text).map(|digest| Fingerprint::from_parts(1, digest))
    };
    fingerprint.map(Some).ok_or(Malformed("its fingerprint is malformed"))
}

/// Reads `lease=30000/86400000 begun new`, and what the claim found.
fn decode_in_progress(body: &[u8]) -> Result<State, Malformed> {
    let times = || {
        let (lease, rest) = number(body.strip_prefix(b"lease=")?)?;
        let (retention, rest) = number(rest.strip_prefix(b"/")?)?;
        (lease > 0 && retention <= LONGEST_MS).then_some(rest.strip_prefix(b" ")?)
    };
    let (mark, rest) = times().and_then(word).ok_or(Malformed("its lease is malformed"))?;
    if mark != b"begun" && mark != b"claimed" {
        return Err(Malformed("it does not say whether it has begun"));
    }
    let found = rest.split(|&byte| byte == b'|').next().unwrap_or_default();
    let found = match found {
        b"new" => Found::Absent,
        b"after-failed" => Found::Failed,
        b"after-lapsed" => Found::Lapsed { begun: false },
        b"after-begun" => Found::Lapsed { begun: true },
        b"after-completed" => Found::Completed,
        _ => return Err(Malformed("it does not say what it found")),
    };
    Ok(State::InProgress { found })
}

fn decode_result(body: &[u8]) -> Result<Recorded, Malformed> {
    if let Some(summary) = body.strip_prefix(b"rejected: ") {
        let summary = std::str::from_utf8(summary).map_err(|_| Malformed("its summary is not UTF-8"))?;
        return Ok(Recorded::Rejected(summary.into()));
    }
    if let Some(text) = body.strip_prefix(b"nothing: ") {
        let known = [NoResult::NotWanted, NoResult::TooLarge, NoResult::NotSerialisable];
        let why = known.into_iter().find(|why| why_nothing(*why).as_bytes() == text);
        return why.map(Recorded::Nothing).ok_or(Malformed("it does not say why it has no result"));
    }
    let end = body.iter().position(|byte| matches!(byte, b'=' | b'!')).ok_or(Malformed("it has no result"))?;
    let codec = std::str::from_utf8(&body[..end]).ok().and_then(CodecTag::parse);
    let codec = codec.ok_or(Malformed("its codec's tag is malformed"))?;
    let encoded = Encoded { codec, bytes: body[end + 1..].into() };
    Ok(if body[end] == b'=' { Recorded::Value(encoded) } else { Recorded::Error(encoded) })
}
