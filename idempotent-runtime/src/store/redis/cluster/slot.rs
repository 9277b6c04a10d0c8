//! The slot of a key.

use std::fmt;

use redis::{Arg, Cmd};

/// How many there are.
pub(super) const SLOTS: u16 = 16_384;

/// The part of all keys that one node serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store::redis) struct Slot(u16);

impl Slot {
    pub(in crate::store::redis) fn new(number: u16) -> Option<Self> {
        (number < SLOTS).then_some(Self(number))
    }

    /// The slot of the key of a command: a script's comes after its hash and the number of keys, any other first.
    pub(super) fn of(command: &Cmd) -> Option<Self> {
        let mut arguments = command.args_iter().map(|argument| match argument {
            Arg::Simple(bytes) => bytes,
            _ => b"",
        });
        match arguments.next()? {
            b"EVALSHA" => arguments.nth(2),
            b"SCRIPT" => None,
            _ => arguments.next(),
        }
        .map(Self::of_key)
    }

    /// As the servers compute it. Keys of this crate never hold a brace, but a key of the caller's own may.
    fn of_key(key: &[u8]) -> Self {
        let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
            let rest = &key[open + 1..];
            rest.iter().position(|&byte| byte == b'}').filter(|&length| length > 0).map(|length| &rest[..length])
        });
        Self(crc16(tag.unwrap_or(key)) % SLOTS)
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// CRC-16/XMODEM (<https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#appendix-a-crc16-reference-implementation-in-ansi-c>).
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, &byte| sum << 8 ^ TABLE[usize::from((sum >> 8) as u8 ^ byte)])
}

const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_u16;
    while byte < 256 {
        let mut sum = byte << 8;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 0x8000 == 0 { sum << 1 } else { sum << 1 ^ 0x1021 };
            bit += 1;
        }
        table[byte as usize] = sum;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::key::encode;

    #[test]
    fn slots_are_those_that_the_servers_compute() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        // `CLUSTER KEYSLOT` of Redis 7.0.
        for (key, slot) in [
            ("foo", 12182),
            ("{user1000}.following", 3443),
            ("user1000", 3443),
            ("foo{}{bar}", 8363),
            ("foo{{bar}}zap", 4015),
        ] {
            assert_eq!(Slot::of_key(key.as_bytes()), Slot(slot), "{key}");
        }
        assert_eq!(Slot::of_key(b"a{b"), Slot(crc16(b"a{b") % SLOTS));
    }

    #[test]
    fn the_key_of_each_kind_of_command_is_found() {
        let of = |words: &[&str]| {
            let mut command = Cmd::new();
            for word in words {
                command.arg(*word);
            }
            Slot::of(&command)
        };
        let foo = Slot::new(12182);
        assert_eq!(of(&["SET", "foo", "x", "NX"]), foo);
        assert_eq!(of(&["EVALSHA", "0123", "1", "foo", "bar"]), foo);
        assert_eq!(of(&["SCRIPT", "LOAD", "foo"]), None);
        assert_eq!(of(&["PING"]), None);
    }

    #[test]
    fn what_a_user_puts_in_braces_chooses_no_slot() {
        let key = |part: &str| encode(None, "order", &[&part], None).expect("a whole key");
        let slots: HashSet<_> =
            (0..100).map(|n| Slot::of_key(key(&format!("{{shop}}{n}")).as_str().as_bytes()).0).collect();
        assert!(slots.len() > 90, "{} slots for 100 keys", slots.len());
        // Long keys and hidden ones are digests behind the prefix.
        let long = key(&"{x}".repeat(100));
        assert!(!long.as_str().contains(['{', '}']), "{long}");
    }
}
