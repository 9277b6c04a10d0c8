//! Keys that hide what they are made of.

use std::fmt;

/// What the parts of hidden keys are digested with. Without it nobody can tell by trying which parts a key stands for.
#[derive(Clone)]
pub(crate) struct Secret {
    key: [u8; 32],
    length: usize,
}

/// Below this a secret could be found by trying.
const SHORTEST: usize = 16;

impl Secret {
    pub(crate) fn new(secret: &[u8]) -> Self {
        Self { key: blake3::derive_key("idempotent 2026-11 digests of hidden keys", secret), length: secret.len() }
    }

    /// Why it is none.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.length < SHORTEST {
            return Err(format!("the secret has {} bytes; use {SHORTEST} random bytes or more", self.length));
        }
        Ok(())
    }

    /// The digest of a text, or of a digest that is to be hidden too.
    pub(crate) fn digest(&self, bytes: &[u8]) -> blake3::Hash {
        blake3::keyed_hash(&self.key, bytes)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
