//! Writing the text of a record.

use std::io::Write;
use std::time::Duration;

use super::{LONGEST, LONGEST_MS, why_nothing};
use crate::fingerprint::Fingerprint;
use crate::record::{CodecTag, Encoded, Recorded};
use crate::store::{ClaimRequest, Retention};
use crate::text64;

const LONGEST_OWNER: usize = 64;

/// Milliseconds as the scripts count them: never zero, which Redis refuses, and never beyond what it can add to now.
pub(in super::super) fn millis(duration: Duration) -> u64 {
    let duration = duration.min(LONGEST);
    (duration.as_secs() * 1000 + u64::from(duration.subsec_millis())).max(1)
}

/// How long a record in progress is kept, in milliseconds.
pub(in super::super) fn in_progress_millis(retention: Retention) -> u64 {
    match retention {
        Retention::For(duration) => millis(duration),
        Retention::Forever => LONGEST_MS,
    }
}

/// How long any other record is kept, in milliseconds; `None` for ever.
pub(in super::super) fn kept(retention: Retention) -> Option<u64> {
    match retention {
        Retention::For(duration) => Some(millis(duration)),
        Retention::Forever => None,
    }
}

/// The word for a claim that has begun, or has not.
pub(in super::super) const fn mark(begun: bool) -> &'static str {
    if begun { "begun" } else { "claimed" }
}

/// Writes the parts of a record to memory, which does not fail.
pub(in super::super) trait Put {
    fn put(&mut self, bytes: &[u8]);

    /// The head of a first claim: what stands in its record in every state.
    fn put_head(&mut self, request: &ClaimRequest<'_>) {
        self.put(request.token.text().as_bytes());
        self.put(b"@");
        self.put_owner(request.owner);
        self.put(b" ");
        self.put_fingerprint(request.fingerprint);
        self.put(b" ");
    }

    /// A first claim, which found nothing.
    fn put_claim(&mut self, head: &[u8], request: &ClaimRequest<'_>) {
        self.put(b"1p ");
        self.put(head);
        self.put(b"lease=");
        self.put_number(millis(request.lease));
        self.put(b"/");
        self.put_number(in_progress_millis(request.retention));
        if request.held != request.retention {
            self.put(b"/");
            self.put_number(in_progress_millis(request.held));
        }
        self.put(if request.begun { b" begun new" } else { b" claimed new" });
    }

    /// The owner, as printable ASCII without spaces whatever it is.
    fn put_owner(&mut self, owner: &str) {
        if owner.is_empty() {
            self.put(b"-");
        } else if owner.len() <= LONGEST_OWNER && owner.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.put(owner.as_bytes());
        } else {
            for char in owner.chars().take(LONGEST_OWNER) {
                self.put(&[u8::try_from(char).ok().filter(u8::is_ascii_graphic).unwrap_or(b'?')]);
            }
        }
    }

    fn put_fingerprint(&mut self, fingerprint: Option<Fingerprint>) {
        let Some(fingerprint) = fingerprint else { return self.put(b"-") };
        let (version, digest) = fingerprint.parts();
        if version != 1 {
            self.put_number(version.into());
            self.put(b".");
        }
        self.put(&text64::encode_u128(digest));
    }

    /// What stands in a completed record after the fingerprint.
    fn put_result(&mut self, result: &Recorded) {
        let (Recorded::Value(Encoded { codec, bytes }) | Recorded::Error(Encoded { codec, bytes })) = result else {
            return match result {
                Recorded::Rejected(summary) => {
                    self.put(b"rejected: ");
                    self.put(summary.as_bytes());
                }
                Recorded::Nothing(why) => {
                    self.put(b"nothing: ");
                    self.put(why_nothing(*why).as_bytes());
                }
                Recorded::Value(_) | Recorded::Error(_) => {}
            };
        };
        if *codec != CodecTag::JSON {
            self.put(codec.as_str().as_bytes());
        }
        self.put(if matches!(result, Recorded::Value(_)) { b"=" } else { b"!" });
        self.put(bytes);
    }

    /// A number in decimal digits.
    fn put_number(&mut self, mut number: u64) {
        let (mut digits, mut at) = ([0; 20], 20);
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return self.put(&digits[at..]);
            }
        }
    }
}

impl<W: Write> Put for W {
    fn put(&mut self, bytes: &[u8]) {
        let _ = self.write_all(bytes);
    }
}
