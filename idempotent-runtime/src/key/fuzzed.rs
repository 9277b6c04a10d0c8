//! What must hold for every list of parts.

use super::{KeyPart, encode};

/// The parts of a key can be read back from its text, so different parts never give the same key; and nothing in it can
/// be mistaken for structure or for a pattern. Where a digest stands in their place, it is the same one each time.
///
/// Parts are what stands between bytes `0xff`.
///
/// # Panics
///
/// Where it does not hold.
pub fn key(data: &[u8]) {
    let parts: Vec<_> = data.split(|&byte| byte == 0xff).map(String::from_utf8_lossy).collect();
    let given: Vec<&dyn KeyPart> = parts.iter().map(|part| part as &dyn KeyPart).collect();
    let key = match encode(Some("space"), "prefix", &given, None) {
        Ok(key) => key,
        Err(missing) => return assert!(parts[missing].is_empty(), "part {missing} of {parts:?} is not missing"),
    };
    assert!(parts.iter().all(|part| !part.is_empty()), "an empty part is a missing one");
    let encoded = key.as_str().strip_prefix("space:prefix:").expect("namespace and prefix stand in front");
    assert!(!encoded.contains(['{', '}', '*', '?', '[', ']']) && !encoded.contains(char::is_control), "{encoded}");
    assert!(encoded.len() < 200, "{} bytes", encoded.len());
    if encoded.starts_with("%~") {
        assert_eq!(key, encode(Some("space"), "prefix", &given, None).expect("as before"));
        return;
    }
    assert_eq!(encoded.split(':').map(unescaped).collect::<Vec<_>>(), parts);
}

fn unescaped(part: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = part.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at(2);
        let digits = std::str::from_utf8(digits).expect("two digits");
        bytes.push(u8::from_str_radix(digits, 16).expect("two hexadecimal digits"));
        rest = after;
    }
    String::from_utf8(bytes).expect("what was text is text")
}
