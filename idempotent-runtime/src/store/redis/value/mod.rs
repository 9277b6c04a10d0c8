//! The text of a record: one value, which a person can read in `redis-cli`.
//!
//! ```text
//! 1p TOKEN@OWNER FINGERPRINT lease=30000/86400000 begun new
//! 1p TOKEN#2@OWNER FINGERPRINT lease=30000/86400000/3153600000000 claimed after-failed|card declined
//! 1g TOKEN@OWNER FINGERPRINT lease=30000/86400000 begun new
//! 1f TOKEN#2@OWNER FINGERPRINT failed: card declined
//! 1c TOKEN@OWNER FINGERPRINT ={"receipt":7}
//! ```
//!
//! - `1` is the version of the format; then the state: in *p*rogress, *g*iven up (in progress, and lapsed whatever the
//!   time), *f*ailed, *c*ompleted.
//! - The token has 22 characters and stands at a fixed place, so that a script compares state and token at once. `#n`
//!   is the attempt, left out for the first; `^n` the fence, where there is one; after `@` the owner, without spaces.
//! - The fingerprint has 22 characters, with its version and a dot in front unless that is 1; `-` is none.
//! - In progress: the writer's own lease and retention in milliseconds, and, where that differs, for how long an open
//!   run is held (one that has begun, or that the claim stands over); whether the run has begun or is only claimed;
//!   what the claim found, and after `|` what it takes to put that back: the error of a failed record, a lapsed claim
//!   without what that one had found, a completed record without its result.
//! - Failed: the error.
//! - Completed: the codec's tag (left out for JSON), `=` for a value or `!` for an error, and the codec's bytes; or
//!   `rejected: ` and the summary; or `nothing: ` and why.
//!
//! In the field of a Hash there stands in front of it until when the record is kept, by the server's clock: as
//! `until=1764586400000 1c …`, or `until=forever 1c …`. The scripts take that away and put it there, so nothing else knows
//! of it.
//!
//! The scripts know this format too. What is not written like this is unreadable, never "absent".

mod read;
mod write;

use std::time::Duration;

pub(super) use read::{Malformed, Record, State};
pub(super) use write::{Put, in_progress_millis, kept, mark, millis};

use crate::record::NoResult;

/// The longest time that anything is kept, in milliseconds: 100 years. A record in progress that is kept "for ever"
/// has this expiry, so that retention minus what is left of it always tells when it was last renewed.
const LONGEST_MS: u64 = 100 * 365 * 24 * 60 * 60 * 1000;

const LONGEST: Duration = Duration::from_millis(LONGEST_MS);

const fn why_nothing(why: NoResult) -> &'static str {
    match why {
        NoResult::NotWanted => "not wanted",
        NoResult::TooLarge => "too large",
        NoResult::NotSerialisable => "not serialisable",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fingerprint::Fingerprint;
    use crate::record::{CodecTag, Encoded, Recorded};
    use crate::store::{ClaimRequest, Found, OnLapse, Retention};
    use crate::token::Token;

    const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAB";
    const DIGEST: &str = "AAAAAAAAAAAAAAAAAAAAAC";

    fn request() -> ClaimRequest<'static> {
        ClaimRequest {
            token: Token::from_u128(1),
            owner: "kitchen-1:71",
            fingerprint: Some(Fingerprint::from_u128(2)),
            lease: Duration::from_secs(30),
            retention: Retention::For(Duration::from_hours(24)),
            held: Retention::For(Duration::from_hours(24)),
            on_lapse: OnLapse::TakeOver,
            max_attempts: None,
            supersede: None,
            begun: true,
            fenced: false,
        }
    }

    fn written(request: &ClaimRequest<'_>) -> String {
        let (mut head, mut text) = (Vec::new(), Vec::new());
        head.put_head(request);
        text.put_claim(&head, request);
        String::from_utf8(text).expect("a claim is text")
    }

    fn result(recorded: &Recorded) -> Vec<u8> {
        let mut text = Vec::new();
        text.put_result(recorded);
        text
    }

    fn completed(body: &[u8]) -> Result<Recorded, Malformed> {
        let text = [format!("1c {TOKEN}@a {DIGEST} ").as_bytes(), body].concat();
        match Record::read(&text)?.state {
            State::Completed(result) => Ok(result),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_claim_reads_as_a_person_expects() {
        let text = written(&request());
        assert_eq!(text, format!("1p {TOKEN}@kitchen-1:71 {DIGEST} lease=30000/86400000 begun new"));
        let record = Record::read(text.as_bytes()).expect("what was written");
        assert_eq!((record.token, record.attempt, record.fence), (Token::from_u128(1), 1, None));
        assert_eq!((record.owner, record.fingerprint), ("kitchen-1:71", Some(Fingerprint::from_u128(2))));
        let (lease, kept) = (Duration::from_secs(30), Duration::from_hours(24));
        let state = State::InProgress { lease, kept, begun: true, given_up: false, found: Found::Absent };
        assert_eq!(record.state, state);
    }

    #[test]
    fn a_run_that_is_held_for_longer_says_so() {
        let held = ClaimRequest { held: Retention::Forever, begun: false, ..request() };
        let text = written(&held);
        assert!(text.ends_with(&format!(" lease=30000/86400000/{LONGEST_MS} claimed new")), "{text}");
        let kept = |text: &str| match Record::read(text.as_bytes()).expect("what was written").state {
            State::InProgress { kept, .. } => kept,
            other => panic!("{other:?}"),
        };
        assert_eq!(kept(&text), Duration::from_hours(24), "not before it has begun");
        assert_eq!(kept(&text.replace("claimed", "begun")), LONGEST);
        assert_eq!(kept(&text.replace("new", "after-begun|1p …")), LONGEST, "it stands over an open run");
    }

    #[test]
    fn what_is_missing_or_strange_is_written_so_that_it_can_be_read() {
        let strange = ClaimRequest {
            owner: "",
            fingerprint: None,
            lease: Duration::ZERO,
            retention: Retention::Forever,
            held: Retention::Forever,
            begun: false,
            ..request()
        };
        assert_eq!(written(&strange), format!("1p {TOKEN}@- - lease=1/{LONGEST_MS} claimed new"));
        let spaced = ClaimRequest {
            owner: "a b\n@é",
            retention: Retention::For(Duration::MAX),
            held: Retention::For(Duration::MAX),
            ..request()
        };
        let text = written(&spaced);
        assert!(text.contains("@a?b?@? "), "{text}");
        assert!(text.contains(&format!("/{LONGEST_MS} ")), "{text}");
        let of_version_2 = Fingerprint::parse(&format!("2.{DIGEST}"));
        let text = written(&ClaimRequest { fingerprint: of_version_2, ..request() });
        assert!(text.contains(&format!(" 2.{DIGEST} ")), "{text}");
        assert_eq!(Record::read(text.as_bytes()).expect("what was written").fingerprint, of_version_2);
    }

    #[test]
    fn attempts_fences_and_what_was_found_are_read() {
        let text = format!("1g {TOKEN}#12^1764500000000001@a - lease=10/20 begun after-begun|1p something");
        let record = Record::read(text.as_bytes()).expect("a record");
        assert_eq!((record.attempt, record.fence), (12, Some(1_764_500_000_000_001)));
        assert!(
            matches!(record.state, State::InProgress { given_up: true, found: Found::Lapsed { begun: true }, .. }),
            "{record:?}"
        );
    }

    #[test]
    fn every_result_comes_back() {
        let encoded = |codec, bytes: &[u8]| Encoded { codec, bytes: bytes.into() };
        for (recorded, text) in [
            (Recorded::Value(encoded(CodecTag::JSON, b"{}")), b"={}".as_slice()),
            (Recorded::Value(encoded(CodecTag::JSON, b"")), b"="),
            (Recorded::Value(encoded(CodecTag::new("packed12"), b"\xff\0 =!\n")), b"packed12=\xff\0 =!\n"),
            (Recorded::Value(encoded(CodecTag::new("rejected"), b" x")), b"rejected= x"),
            (Recorded::Error(encoded(CodecTag::JSON, b"null")), b"!null"),
            (Recorded::Rejected("declined".into()), b"rejected: declined"),
            (Recorded::Rejected("".into()), b"rejected: "),
            (Recorded::Nothing(NoResult::NotWanted), b"nothing: not wanted"),
            (Recorded::Nothing(NoResult::TooLarge), b"nothing: too large"),
            (Recorded::Nothing(NoResult::NotSerialisable), b"nothing: not serialisable"),
        ] {
            assert_eq!(result(&recorded), text);
            assert_eq!(completed(text), Ok(recorded));
        }
    }

    #[test]
    fn all_else_is_malformed() {
        let good = format!("1p {TOKEN}@a {DIGEST} lease=30000/86400000 begun new");
        assert!(Record::read(good.as_bytes()).is_ok(), "the control");
        for (from, to) in [
            ("1p", "2p"),
            ("1p", "1x"),
            ("1p ", "1p"),
            (TOKEN, &TOKEN[1..]),
            (TOKEN, "AAAAAAAAAAAAAAAAAAAAA="),
            ("@a", ""),
            ("@a", "@"),
            ("@a", "#@a"),
            ("@a", "#4294967296@a"),
            ("@a", "^x@a"),
            (DIGEST, "short"),
            (DIGEST, "x.AAAAAAAAAAAAAAAAAAAAAC"),
            ("lease=", "leases="),
            ("30000/", "/"),
            ("30000/", "0/"),
            ("/86400000", ""),
            ("/86400000", "/86400000000000000"),
            ("/86400000", "/86400000/"),
            ("/86400000", "/86400000/0"),
            ("/86400000", "/86400000/86400000000000000"),
            ("begun", "begin"),
            ("new", "newer"),
            (" new", ""),
        ] {
            let text = good.replacen(from, to, 1);
            assert_ne!(text, good);
            assert!(Record::read(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["", "1", "1p", "1p ", "hello", "{}", &good[..30]] {
            assert!(Record::read(text.as_bytes()).is_err(), "{text}");
        }
        for body in [b"".as_slice(), b"json", b"JSON={}", b"{}", b"rejected: \xff", b"nothing: at all"] {
            assert!(completed(body).is_err(), "{}", body.escape_ascii());
        }
        let failed = |body: &str| Record::read(format!("1f {TOKEN}@a - {body}").as_bytes()).is_ok();
        assert!(failed("failed: why") && failed("failed: "));
        assert!(!failed("failed") && !failed("={}"));
    }
}
