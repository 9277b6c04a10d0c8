//! A record of the truth, as the front keeps it.
//!
//! Where a call completes, both stores write the same record. A copy that is made later is completed by the call that
//! found nothing in the front, under its own token: the record that it stands for is written in front of its result, as
//! one line that a person can read: its token, `#` and its attempt, its fingerprint or `-`, and the kind of result.

use std::str::from_utf8;

use crate::fingerprint::Fingerprint;
use crate::record::{CodecTag, Completed, Encoded, NoResult, Recorded};
use crate::token::Token;

/// Marks a result that has the truth's record in front of it.
const TAG: CodecTag = CodecTag::new("tiered");

/// `record` as a result.
pub(super) fn write(record: &Completed) -> Recorded {
    let (kind, result) = match &record.result {
        Recorded::Value(Encoded { codec, bytes }) => (format!("value:{codec}"), &**bytes),
        Recorded::Error(Encoded { codec, bytes }) => (format!("error:{codec}"), &**bytes),
        Recorded::Rejected(summary) => ("rejected".to_owned(), summary.as_bytes()),
        Recorded::Nothing(NoResult::NotWanted) => ("not-wanted".to_owned(), &[][..]),
        Recorded::Nothing(NoResult::TooLarge) => ("too-large".to_owned(), &[][..]),
        Recorded::Nothing(NoResult::NotSerialisable) => ("not-serialisable".to_owned(), &[][..]),
    };
    let fingerprint = record.fingerprint.map_or_else(|| "-".to_owned(), |fingerprint| fingerprint.text());
    let head = format!("{} #{} {fingerprint} {kind}\n", record.token, record.attempt);
    let bytes = [head.as_bytes(), result].concat();
    Recorded::Value(Encoded { codec: TAG, bytes: bytes.into() })
}

/// The truth's record, from what the front keeps; `None` where it cannot be read.
pub(super) fn read(kept: Completed) -> Option<Completed> {
    let Recorded::Value(Encoded { codec: TAG, bytes }) = &kept.result else { return Some(kept) };
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (head, result) = (from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]);
    let mut words = head.split(' ');
    let token = Token::parse(words.next()?)?;
    let attempt = words.next()?.strip_prefix('#')?.parse().ok()?;
    let fingerprint = match words.next()? {
        "-" => None,
        text => Some(Fingerprint::parse(text)?),
    };
    let encoded = |codec| Some(Encoded { codec: CodecTag::parse(codec)?, bytes: result.into() });
    let kind = words.next()?;
    let result = match kind.split_once(':') {
        Some(("value", codec)) => Recorded::Value(encoded(codec)?),
        Some(("error", codec)) => Recorded::Error(encoded(codec)?),
        Some(_) => return None,
        None => match kind {
            "rejected" => Recorded::Rejected(from_utf8(result).ok()?.into()),
            "not-wanted" => Recorded::Nothing(NoResult::NotWanted),
            "too-large" => Recorded::Nothing(NoResult::TooLarge),
            "not-serialisable" => Recorded::Nothing(NoResult::NotSerialisable),
            _ => return None,
        },
    };
    Some(Completed { token, attempt, fingerprint, result })
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
                let kept = Completed { token: Token::random(), attempt: 1, fingerprint: None, result: write(&record) };
                assert_eq!(read(kept), Some(record.clone()));
                assert_eq!(read(record.clone()), Some(record), "one that is no copy is itself");
            }
        }
    }

    #[test]
    fn what_is_no_copy_is_none() {
        for bytes in ["", "no line", "\n", "x #1 - rejected\n", "AAAAAAAAAAAAAAAAAAAAAB #1 - unknown\n"] {
            let result = Recorded::Value(Encoded { codec: TAG, bytes: bytes.as_bytes().into() });
            let kept = Completed { token: Token::random(), attempt: 1, fingerprint: None, result };
            assert_eq!(read(kept), None, "{bytes:?}");
        }
    }
}
