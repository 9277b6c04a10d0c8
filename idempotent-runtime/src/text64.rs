//! 128-bit numbers as 22 readable characters: tokens, fingerprints, derived keys.
//!
//! The alphabet is that of base64url (RFC 4648, section 5), most significant digit first, so equal numbers have
//! equal texts and nothing in a text needs escaping in a key, a URL or a shell.

/// Characters in the text of a `u128`: 22 digits of six bits.
pub(crate) const U128_LEN: usize = 22;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(crate) fn encode_u128(mut value: u128) -> [u8; U128_LEN] {
    let mut text = [0; U128_LEN];
    for digit in text.iter_mut().rev() {
        *digit = ALPHABET[(value & 63) as usize];
        value >>= 6;
    }
    text
}

pub(crate) fn decode_u128(text: &[u8]) -> Option<u128> {
    // The first of 22 digits holds two bits only: anything above is no number of ours.
    if text.len() != U128_LEN || digit(text[0])? > 3 {
        return None;
    }
    text.iter().try_fold(0_u128, |value, &byte| Some(value << 6 | u128::from(digit(byte)?)))
}

/// The text of bytes that [`encode_u128`] made.
pub(crate) fn as_str(text: &[u8; U128_LEN]) -> &str {
    std::str::from_utf8(text).unwrap_or_default()
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_comes_back() {
        for value in [0, 1, 63, 64, u128::from(u64::MAX), u128::MAX - 1, u128::MAX] {
            assert_eq!(decode_u128(&encode_u128(value)), Some(value));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        assert_eq!(decode_u128(b"short"), None);
        assert_eq!(decode_u128(b"_AAAAAAAAAAAAAAAAAAAAA"), None, "more than 128 bits");
        assert_eq!(decode_u128(b"AAAAAAAAAAAAAAAAAAAAA="), None);
        assert_eq!(decode_u128(b"AAAAAAAAAAAAAAAAAAAAAA"), Some(0), "the control");
    }
}
