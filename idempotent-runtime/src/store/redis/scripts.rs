//! The scripts: every guarded write, one file each.
//!
//! Each compares the token before it changes anything, and may run twice.

use std::sync::OnceLock;

/// A script, and the hash that the server knows it by.
#[derive(Debug)]
pub(super) struct Script {
    source: &'static str,
    hash: OnceLock<String>,
}

impl Script {
    const fn new(source: &'static str) -> Self {
        Self { source, hash: OnceLock::new() }
    }

    pub(super) fn source(&self) -> &'static str {
        self.source
    }

    pub(super) fn hash(&self) -> &str {
        self.hash.get_or_init(|| redis::Script::new(self.source).get_hash().to_owned())
    }
}

pub(super) static CLAIM: Script = Script::new(include_str!("claim.lua"));
pub(super) static BEGIN: Script = Script::new(include_str!("begin.lua"));
pub(super) static RENEW: Script = Script::new(include_str!("renew.lua"));
pub(super) static COMPLETE: Script = Script::new(include_str!("complete.lua"));
pub(super) static RELEASE: Script = Script::new(include_str!("release.lua"));
pub(super) static INSPECT: Script = Script::new(include_str!("inspect.lua"));
pub(super) static CHANGE: Script = Script::new(include_str!("change.lua"));

/// All of them, to be loaded when a connection is made.
pub(super) static ALL: [&Script; 7] = [&CLAIM, &BEGIN, &RENEW, &COMPLETE, &RELEASE, &INSPECT, &CHANGE];
