//! What the commands that settle one record have alike.

use idempotent_runtime::admin::Inspected;
use idempotent_runtime::{Idempotency, Key};
use serde_json::json;

use crate::access;
use crate::cli::Global;
use crate::exit::Failure;
use crate::output::Out;

/// A record that is to be settled.
pub(super) struct Case {
    pub(super) idempotency: Idempotency,
    pub(super) key: Key,
    pub(super) seen: Inspected,
}

impl Case {
    /// Looks at the record. One that a live run has is not settled: that is refused before anybody is asked.
    pub(super) async fn open(key: &str, global: &Global) -> Result<Self, Failure> {
        let idempotency = access::open(global).await?;
        let key = Key::from_text(key);
        let seen = idempotency.inspect(&key).await?.ok_or_else(|| Failure::Absent(key.to_string()))?;
        if seen.is_live() {
            let owner = &seen.owner;
            return Err(Failure::Unchanged(format!("a live run has `{key}` (attempt {} of {owner})", seen.attempt)));
        }
        Ok(Self { idempotency, key, seen })
    }

    /// How it stands, in a question.
    pub(super) fn described(&self) -> String {
        format!("`{}`, which is {} (attempt {})", self.key, self.seen.standing(), self.seen.attempt)
    }

    /// Says what was done.
    pub(super) fn done(&self, change: &str, global: &Global, out: Out) -> Result<(), Failure> {
        if global.json {
            return Ok(out.json(&json!({ "key": self.key.as_str(), "change": change, "done": true }))?);
        }
        Ok(out.line(&format!("{change}: {}", self.key))?)
    }
}
