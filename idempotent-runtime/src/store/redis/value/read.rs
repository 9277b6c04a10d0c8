//! Reading the text of a record.

use std::time::Duration;

use super::{LONGEST_MS, why_nothing};
use crate::fingerprint::Fingerprint;
use crate::record::{CodecTag, Completed, Encoded, NoResult, Recorded};
use crate::store::Found;
use crate::text64::{self, U128_LEN};
use crate::token::Token;

/// A record, read from its text.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Record<'a> {
    pub(in super::super) token: Token,
    pub(in super::super) attempt: u32,
    pub(in super::super) fence: Option<u64>,
    pub(in super::super) owner: &'a str,
    pub(in super::super) fingerprint: Option<Fingerprint>,
    pub(in super::super) state: State<'a>,
}

/// What state a record is in, with what belongs to that state.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum State<'a> {
    /// `kept` is for how long the record was kept when its lease started last.
    InProgress {
        lease: Duration,
        kept: Duration,
        begun: bool,
        given_up: bool,
        found: Found,
    },
    Failed(&'a str),
    Completed(Recorded),
}

/// What is wrong with a text that is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Malformed(pub(in super::super) &'static str);

impl Record<'_> {
    /// Reads a record from its text.
    pub(in super::super) fn read(text: &[u8]) -> Result<Record<'_>, Malformed> {
        let [b'1', state, b' ', rest @ ..] = text else {
            return Err(Malformed("it does not begin with format 1 and a state"));
        };
        let (token, rest) = rest.split_at_checked(U128_LEN).ok_or(Malformed("it ends within its token"))?;
        let token = text64::decode_u128(token).map(Token::from_u128).ok_or(Malformed("its token is malformed"))?;
        let (attempt, rest) = counted(rest, b"#").ok_or(Malformed("its attempt is malformed"))?;
        let attempt = u32::try_from(attempt.unwrap_or(1)).map_err(|_| Malformed("its attempt is too large"))?;
        let (fence, rest) = counted(rest, b"^").ok_or(Malformed("its fence is malformed"))?;
        let (owner, rest) = rest.strip_prefix(b"@").and_then(word).ok_or(Malformed("it names no owner"))?;
        let owner = std::str::from_utf8(owner).map_err(|_| Malformed("its owner is not UTF-8"))?;
        let (fingerprint, body) = word(rest).ok_or(Malformed("it ends within its fingerprint"))?;
        let fingerprint = read_fingerprint(fingerprint)?;
        let state = match state {
            b'p' | b'g' => read_in_progress(body, *state == b'g')?,
            b'f' => State::Failed(read_error(body)?),
            b'c' => State::Completed(read_result(body)?),
            _ => return Err(Malformed("its state is unknown")),
        };
        Ok(Record { token, attempt, fence, owner, fingerprint, state })
    }

    /// The record as a completed one; `None` in any other state.
    pub(in super::super) fn completed(self) -> Option<Completed> {
        let State::Completed(result) = self.state else { return None };
        Some(Completed { token: self.token, attempt: self.attempt, fingerprint: self.fingerprint, result })
    }
}

/// Splits at the first space, which does not come first.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&byte| byte == b' ').filter(|&at| at > 0)?;
    Some((&text[..at], &text[at + 1..]))
}

/// Splits off digits.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    Some((std::str::from_utf8(&text[..end]).ok()?.parse().ok()?, &text[end..]))
}

/// Splits off `mark` and the number that must follow it; no number where the mark is not there.
fn counted<'a>(text: &'a [u8], mark: &[u8]) -> Option<(Option<u64>, &'a [u8])> {
    match text.strip_prefix(mark) {
        None => Some((None, text)),
        Some(rest) => number(rest).map(|(number, rest)| (Some(number), rest)),
    }
}

fn read_fingerprint(text: &[u8]) -> Result<Option<Fingerprint>, Malformed> {
    if text == b"-" {
        return Ok(None);
    }
    let fingerprint = if text.len() == U128_LEN {
        text64::decode_u128(text).map(|digest| Fingerprint::from_parts(1, digest))
    } else {
        std::str::from_utf8(text).ok().and_then(Fingerprint::parse)
    };
    fingerprint.map(Some).ok_or(Malformed("its fingerprint is malformed"))
}

fn read_error(body: &[u8]) -> Result<&str, Malformed> {
    let error = body.strip_prefix(b"failed: ").ok_or(Malformed("it does not say how it failed"))?;
    std::str::from_utf8(error).map_err(|_| Malformed("its error is not UTF-8"))
}

/// Reads `lease=30000/86400000 begun new`, or `lease=30000/86400000/3153600000000 begun new`, and leaves what can be put
/// back to the scripts.
fn read_in_progress(body: &[u8], given_up: bool) -> Result<State<'_>, Malformed> {
    let times = || {
        let (lease, rest) = number(body.strip_prefix(b"lease=")?)?;
        let (retention, rest) = number(rest.strip_prefix(b"/")?)?;
        let (held, rest) = counted(rest, b"/")?;
        let (times, within) = ([lease, retention, held.unwrap_or(retention)], 1..=LONGEST_MS);
        let rest = rest.strip_prefix(b" ")?;
        times.iter().all(|time| within.contains(time)).then_some((times.map(Duration::from_millis), rest))
    };
    let ([lease, retention, held], rest) = times().ok_or(Malformed("its lease or its retention is malformed"))?;
    let begun = match word(rest) {
        Some((b"begun", _)) => true,
        Some((b"claimed", _)) => false,
        _ => return Err(Malformed("it does not say whether its run has begun")),
    };
    let found = &rest[super::mark(begun).len() + 1..];
    let found = match found.split(|&byte| byte == b'|').next().unwrap_or_default() {
        b"new" => Found::Absent,
        b"after-failed" => Found::Failed,
        b"after-lapsed" => Found::Lapsed { begun: false },
        b"after-begun" => Found::Lapsed { begun: true },
        b"after-completed" => Found::Completed,
        _ => return Err(Malformed("it does not say what its claim found")),
    };
    let is_open = begun || found == Found::Lapsed { begun: true };
    Ok(State::InProgress { lease, kept: if is_open { held } else { retention }, begun, given_up, found })
}

fn read_result(body: &[u8]) -> Result<Recorded, Malformed> {
    let end = body.iter().position(|byte| matches!(byte, b'=' | b'!' | b':')).ok_or(Malformed("it has no result"))?;
    let (tag, rest) = (&body[..end], &body[end + 1..]);
    match (body[end], tag) {
        (b':', b"rejected") => {
            let summary = rest.strip_prefix(b" ").and_then(|summary| std::str::from_utf8(summary).ok());
            Ok(Recorded::Rejected(summary.ok_or(Malformed("its summary is not UTF-8"))?.into()))
        }
        (b':', b"nothing") => {
            let known = [NoResult::NotWanted, NoResult::TooLarge, NoResult::NotSerialisable];
            let why = known.into_iter().find(|why| rest.strip_prefix(b" ") == Some(why_nothing(*why).as_bytes()));
            why.map(Recorded::Nothing).ok_or(Malformed("it does not say why it has no result"))
        }
        (b':', _) => Err(Malformed("it has no result")),
        (kind, tag) => {
            let codec = match tag {
                [] => Some(CodecTag::JSON),
                tag => std::str::from_utf8(tag).ok().and_then(CodecTag::parse),
            };
            let codec = codec.ok_or(Malformed("its codec's tag is malformed"))?;
            let encoded = Encoded { codec, bytes: rest.into() };
            Ok(if kind == b'=' { Recorded::Value(encoded) } else { Recorded::Error(encoded) })
        }
    }
}
