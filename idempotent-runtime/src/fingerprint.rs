//! Fingerprints: a digest of the arguments that must not differ between two calls with one key.

mod canonical;

use std::fmt;

use crate::key::Secret;
use crate::text64;

/// A versioned 128-bit digest of arguments.
///
/// Equal arguments give equal fingerprints whatever the order of a map's entries or of a struct's fields in the
/// source; integers are exact at every size. The version stands in the record, so that a binary with another way of
/// digesting never takes a difference in method for a difference in arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    version: u8,
    digest: u128,
}

impl Fingerprint {
    /// The version that this build writes.
    pub const VERSION: u8 = 1;

    /// A fingerprint of a given value: for stores' tests.
    #[must_use]
    pub const fn from_u128(digest: u128) -> Self {
        Self { version: Self::VERSION, digest }
    }

    /// Digests several arguments, each in its place.
    pub(crate) fn of(arguments: &[&dyn Fingerprinted]) -> Result<Self, FingerprintError> {
        let mut bytes = Vec::with_capacity(128);
        for argument in arguments {
            argument.digest_into(&mut bytes)?;
        }
        Ok(Self::of_bytes(&bytes))
    }

    /// Digests arguments in their canonical form.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        let hash = blake3::hash(bytes);
        let mut first = [0; 16];
        first.copy_from_slice(&hash.as_bytes()[..16]);
        Self::from_u128(u128::from_be_bytes(first))
    }

    /// The fingerprint of a call whose key is hidden with `secret`, if it is: arguments that can be guessed are not to be
    /// found by trying.
    pub(crate) fn hidden_by(self, secret: Option<&Secret>) -> Self {
        let Some(secret) = secret else { return self };
        let hash = secret.digest(&self.digest.to_be_bytes());
        let mut first = [0; 16];
        first.copy_from_slice(&hash.as_bytes()[..16]);
        Self { digest: u128::from_be_bytes(first), ..self }
    }

    /// Whether a call with `self` may be answered by a record with `other`; `None` on a version that cannot be
    /// compared.
    #[must_use]
    pub fn matches(self, other: Self) -> Option<bool> {
        (self.version == other.version).then_some(self.digest == other.digest)
    }

    /// The version and the digest: for stores that have a shorter text of their own.
    #[cfg(feature = "redis")]
    pub(crate) const fn parts(self) -> (u8, u128) {
        (self.version, self.digest)
    }

    /// The opposite of [`parts`](Self::parts).
    #[cfg(feature = "redis")]
    pub(crate) const fn from_parts(version: u8, digest: u128) -> Self {
        Self { version, digest }
    }

    /// The version and the digest as text: `1.` and 22 characters.
    #[must_use]
    pub fn text(&self) -> String {
        self.to_string()
    }

    /// Reads what [`text`](Self::text) wrote; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (version, digest) = text.split_once('.')?;
        Some(Self { version: version.parse().ok()?, digest: text64::decode_u128(digest.as_bytes())? })
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.version, text64::as_str(&text64::encode_u128(self.digest)))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// Why a fingerprint cannot be computed: the argument's `Serialize` failed.
#[derive(Debug)]
#[doc(hidden)]
pub struct FingerprintError(String);

impl serde::ser::Error for FingerprintError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl fmt::Display for FingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FingerprintError {}

/// An argument that can be part of a fingerprint: everything that is `Serialize`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a fingerprint",
    label = "does not implement `serde::Serialize`",
    note = "derive `serde::Serialize` for it, or list the fields that matter: `fingerprint = [message.amount]`"
)]
pub trait Fingerprinted {
    #[doc(hidden)]
    fn digest_into(&self, bytes: &mut Vec<u8>) -> Result<(), FingerprintError>;
}

#[diagnostic::do_not_recommend]
impl<T: serde::Serialize + ?Sized> Fingerprinted for T {
    fn digest_into(&self, bytes: &mut Vec<u8>) -> Result<(), FingerprintError> {
        canonical::write(self, bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use serde::{Serialize, Serializer};

    use super::*;

    fn of(arguments: &[&dyn Fingerprinted]) -> Fingerprint {
        Fingerprint::of(arguments).expect("can be computed")
    }

    #[test]
    fn the_order_of_a_map_does_not_matter() {
        let entries: Vec<_> = (0..100).map(|n| (format!("k{n}"), n)).collect();
        let forwards: HashMap<_, _> = entries.iter().cloned().collect();
        let backwards: HashMap<_, _> = entries.iter().rev().cloned().collect();
        let sorted: BTreeMap<_, _> = entries.into_iter().collect();
        assert_eq!(of(&[&forwards]), of(&[&backwards]));
        assert_eq!(of(&[&forwards]), of(&[&sorted]));
    }

    #[test]
    fn the_order_of_fields_in_the_source_does_not_matter() {
        #[derive(Serialize)]
        struct Before {
            order: u64,
            amount: u32,
        }
        #[derive(Serialize)]
        struct After {
            amount: u64,
            order: u64,
        }
        assert_eq!(of(&[&Before { order: 7, amount: 12 }]), of(&[&After { order: 7, amount: 12 }]));
        assert_ne!(of(&[&Before { order: 7, amount: 12 }]), of(&[&Before { order: 12, amount: 7 }]));
    }

    #[test]
    fn large_integers_stay_apart() {
        assert_ne!(of(&[&9_007_199_254_740_993_u64]), of(&[&9_007_199_254_740_992_u64]));
        assert_ne!(of(&[&u128::MAX]), of(&[&(u128::MAX - 1)]));
    }

    #[test]
    fn neighbours_do_not_run_into_each_other() {
        assert_ne!(of(&[&"ab", &"c"]), of(&[&"a", &"bc"]));
        assert_ne!(of(&[&vec![1], &vec![2]]), of(&[&vec![1, 2]]));
        assert_ne!(of(&[&"1"]), of(&[&1]));
        assert_ne!(of(&[&None::<u8>]), of(&[&""]));
        assert_ne!(of(&[&1.0]), of(&[&2.0]));
        assert_eq!(of(&[&Some(1)]), of(&[&1]), "a field that becomes optional keeps its fingerprint");
    }

    #[test]
    fn enums_are_told_apart_by_variant_and_content() {
        #[derive(Serialize)]
        enum Method {
            Card(u8),
            Iban { digits: u8 },
            Cash,
        }
        let all = [
            of(&[&Method::Card(1)]),
            of(&[&Method::Card(2)]),
            of(&[&Method::Iban { digits: 1 }]),
            of(&[&Method::Cash]),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other != one));
        }
    }

    #[test]
    fn a_failing_serialize_is_an_error_with_its_own_words() {
        struct Refuses;
        impl Serialize for Refuses {
            fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                Err(serde::ser::Error::custom("locked"))
            }
        }
        assert_eq!(Fingerprint::of(&[&Refuses]).unwrap_err().to_string(), "locked");
    }

    #[test]
    fn the_digest_never_changes_between_releases() {
        // A record written by an older binary must match. If this fails, `VERSION` has to grow.
        assert_eq!(of(&[&"EUR", &1200]).to_string(), "1.DIolnztCEeyU-qAGDzXNTR");
    }

    #[test]
    fn texts_come_back() {
        let one = of(&[&1]);
        assert_eq!(Fingerprint::parse(&one.text()), Some(one));
        assert_eq!(Fingerprint::parse("1.short"), None);
        assert_eq!(one.matches(Fingerprint::parse(&one.text().replacen('1', "2", 1)).expect("a later version")), None);
    }
}
