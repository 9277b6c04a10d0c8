//! The scripts: every guarded write, one file each.
//!
//! Each compares the token before it changes anything, and may run twice. Most are the same for both layouts: a key
//! without a step is a string (`string.lua`), one with a step is a field of its entity's Hash (`hash.lua`). What every
//! first call does has files of its own: a string's claim is no script at all, and its completion does less.

use std::sync::OnceLock;

use crate::key::Key;

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

/// The scripts of one layout.
#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) claim: Script,
    pub(super) begin: Script,
    pub(super) renew: Script,
    pub(super) complete: Script,
    pub(super) release: Script,
    pub(super) inspect: Script,
    pub(super) change: Script,
}

/// A script on top of its layout.
macro_rules! on {
    ($layout:literal, $script:literal) => {
        Script::new(concat!(include_str!($layout), include_str!($script)))
    };
}

static STRING: Scripts = Scripts {
    claim: on!("string.lua", "claim.lua"),
    begin: on!("string.lua", "begin.lua"),
    renew: on!("string.lua", "renew.lua"),
    complete: Script::new(include_str!("complete.lua")),
    release: on!("string.lua", "release.lua"),
    inspect: on!("string.lua", "inspect.lua"),
    change: on!("string.lua", "change.lua"),
};

static HASH: Scripts = Scripts {
    claim: on!("hash.lua", "claim.lua"),
    begin: on!("hash.lua", "begin.lua"),
    renew: on!("hash.lua", "renew.lua"),
    complete: on!("hash.lua", "complete_field.lua"),
    release: on!("hash.lua", "release.lua"),
    inspect: on!("hash.lua", "inspect.lua"),
    change: on!("hash.lua", "change.lua"),
};

/// The common claim of a field.
pub(super) static TAKE: Script = Script::new(include_str!("take.lua"));

/// The common completion of a field.
pub(super) static COMPLETE_TAKEN: Script = Script::new(include_str!("complete_taken.lua"));

/// The scripts of the layout that `key` has.
pub(super) fn of(key: &Key) -> &'static Scripts {
    if key.step().is_none() { &STRING } else { &HASH }
}

/// All of them, to be loaded when a connection is made.
pub(super) static ALL: [&Script; 16] = [
    &STRING.claim,
    &STRING.begin,
    &STRING.renew,
    &STRING.complete,
    &STRING.release,
    &STRING.inspect,
    &STRING.change,
    &TAKE,
    &COMPLETE_TAKEN,
    &HASH.claim,
    &HASH.begin,
    &HASH.renew,
    &HASH.complete,
    &HASH.release,
    &HASH.inspect,
    &HASH.change,
];
