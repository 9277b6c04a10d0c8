//! A record of the truth, as the front keeps it.
//!
//! Where a call completes, both stores write the same record. A copy that is made later is completed by the call that
//! found nothing in the front, under its own token: the record that it stands for is written in front of its result, as
//! one line of JSON that a person can read.

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::record::{CodecTag, Completed, Encoded, NoResult, Recorded};
use crate::token::Token;

/// Marks a result that has the truth's record in front of it.
const TAG: CodecTag = CodecTag::new("tiered");

#[derive(Serialize, Deserialize)]
struct Head {
    token: String,
    attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    kind: Kind,
}

/// What kind of result follows.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Value(String),
    Error(String),
    Rejected,
    NotWanted,
    TooLarge,
    NotSerialisable,
}

/// `record` as a result; `None` where it cannot be written.
pub(super) fn write(record: &Completed) -> Option<Recorded> {
    let (kind, result) = match &record.result {
        Recorded::Value(Encoded { codec, bytes }) => (Kind::Value(codec.to_string()), &**bytes),
        Recorded::Error(Encoded { codec, bytes }) => (Kind::Error(codec.to_string()), &**bytes),
        Recorded::Rejected(summary) => (Kind::Rejected, summary.as_bytes()),
        Recorded::Nothing(NoResult::NotWanted) => (Kind::NotWanted, &[][..]),
        Recorded::Nothing(NoResult::TooLarge) => (Kind::TooLarge, &[][..]),
        Recorded::Nothing(NoResult::NotSerialisable) => (Kind::NotSerialisable, &[][..]),
    };
    let (token, fingerprint) = (record.token.to_string(), record.fingerprint.map(|fingerprint| fingerprint.text()));
    let head = Head { token, attempt: record.attempt, fingerprint, kind };
    let mut bytes = serde_json::to_vec(&head).ok()?;
    bytes.push(b'\n');
    bytes.extend_from_slice(result);
    Some(Recorded::Value(Encoded { codec: TAG, bytes: bytes.into() }))
}

/// The truth's record, from what the front keeps; `None` where it cannot be read.
pub(super) fn read(kept: &Completed) -> Option<Completed> {
    let bytes = match &kept.result {
        Recorded::Value(Encoded { codec: TAG, bytes }) => bytes,
        _ => return Some(kept.clone()),
    };
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (head, result) = (&bytes[..end], &bytes[end + 1..]);
    let head: Head = serde_json::from_slice(head).ok()?;
    let encoded = |codec: &str| Some(Encoded { codec: CodecTag::parse(codec)?, bytes: result.into() });
    let result = match head.kind {
        Kind::Value(codec) => Recorded::Value(encoded(&codec)?),
        Kind::Error(codec) => Recorded::Error(encoded(&codec)?),
        Kind::Rejected => Recorded::Rejected(std::str::from_utf8(result).ok()?.into()),
        Kind::NotWanted => Recorded::Nothing(NoResult::NotWanted),
        Kind::TooLarge => Recorded::Nothing(NoResult::TooLarge),
        Kind::NotSerialisable => Recorded::Nothing(NoResult::NotSerialisable),
    };
    let fingerprint = match head.fingerprint {
        Some(text) => Some(Fingerprint::parse(&text)?),
        None => None,
    };
    Some(Completed { token: Token::parse(&head.token)?, attempt: head.attempt, fingerprint, result })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_comes_back() {
        let bytes = |bytes: &[u8]| Encoded { codec: CodecTag::JSON, bytes: bytes.into() };
        for result in [
            Recorded::Value(bytes(b"{\"a\":\n1}")),
            Recorded::Value(bytes(b"")),
            Recorded::Error(bytes(b"\0\n\xff")),
            Recorded::Rejected("two\nlines".into()),
            Recorded::Nothing(NoResult::NotWanted),
            Recorded::Nothing(NoResult::TooLarge),
            Recorded::Nothing(NoResult::NotSerialisable),
        ] {
            for fingerprint in [None, Some(Fingerprint::from_u128(7))] {
                let record = Completed { token: Token::random(), attempt: 3, fingerprint, result: result.clone() };
                let kept = Completed { token: Token::random(), attempt: 1, fingerprint: None, result: write(&record).unwrap() };
                assert_eq!(read(&kept), Some(record.clone()));
                assert_eq!(read(&record), Some(record), "one that is no copy is itself");
            }
        }
    }

    #[test]
    fn what_is_no_copy_is_none() {
        for bytes in ["", "no line", "{}\n", "{\"token\":\"x\",\"attempt\":1,\"kind\":\"rejected\"}\n"] {
            let result = Recorded::Value(Encoded { codec: TAG, bytes: bytes.as_bytes().into() });
            let kept = Completed { token: Token::random(), attempt: 1, fingerprint: None, result };
            assert_eq!(read(&kept), None, "{bytes:?}");
        }
    }
}
