//! The channel on which the end of a key's run is told.

use super::cluster::Slot;
use crate::key::Key;

/// What every channel begins with: the permission that waiters and those who end runs need is `&idempotent:ended:*`.
const PREFIX: &str = "idempotent:ended:";

/// How the end of a run is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// To whoever listens at the server, or at one of its replicas.
    Server,
    /// In a Cluster: to whoever listens at the nodes that have the key's slot, and no further.
    Shard,
}

impl Spread {
    pub(super) fn publish(self) -> &'static str {
        match self {
            Self::Server => "PUBLISH",
            Self::Shard => "SPUBLISH",
        }
    }

    pub(super) fn subscribe(self) -> &'static str {
        match self {
            Self::Server => "SUBSCRIBE",
            Self::Shard => "SSUBSCRIBE",
        }
    }

    pub(super) fn unsubscribe(self) -> &'static str {
        match self {
            Self::Server => "UNSUBSCRIBE",
            Self::Shard => "SUNSUBSCRIBE",
        }
    }

    /// The channel of a key. `None` where no channel can be in the slot of the key: one that has braces, but no tag.
    pub(super) fn channel(self, key: &Key) -> Option<String> {
        // Braces of the key's own choose its slot; else the whole name of its entity does.
        let (text, entity) = (key.as_str(), key.entity());
        let channel = if entity.contains(['{', '}']) {
            format!("{PREFIX}{text}")
        } else {
            format!("{PREFIX}{{{entity}}}{}", &text[entity.len()..])
        };
        match self {
            Self::Server => Some(channel),
            Self::Shard => (Slot::of_key(channel.as_bytes()) == Slot::of_key(entity.as_bytes())).then_some(channel),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_readable_and_in_the_slot_of_its_key() {
        for (key, channel) in [
            ("shop:order:1", "idempotent:ended:{shop:order:1}"),
            ("{shop}:order:1", "idempotent:ended:{shop}:order:1"),
            ("shop:order:1[init]", "idempotent:ended:{shop:order:1}[init]"),
            ("{shop}:order:1[init]", "idempotent:ended:{shop}:order:1[init]"),
        ] {
            let key = Key::from_text(key);
            assert_eq!(Spread::Server.channel(&key).as_deref(), Some(channel));
            assert_eq!(Spread::Shard.channel(&key).as_deref(), Some(channel));
        }
    }

    #[test]
    fn a_key_with_braces_and_no_tag_has_no_channel_in_its_slot() {
        for key in ["foo{}{bar}", "a}b", "a{b"] {
            let key = Key::from_text(key);
            assert_eq!(Spread::Shard.channel(&key), None, "{key}");
            assert!(Spread::Server.channel(&key).is_some(), "{key}");
        }
    }
}
