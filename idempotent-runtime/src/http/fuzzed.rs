//! What must hold for every field and for every record.

use ::http::{HeaderMap, HeaderValue, Response};
use bytes::Bytes;
use serde::Deserialize as _;

use super::IDEMPOTENCY_KEY;
use super::key::{KeyError, KeyRules, Syntax};
use super::stored::StoredResponse;
use crate::read::from_format;

/// A field gives a key that is printable, the same key when it is written anew, and in strict mode no other than in
/// lenient mode. Two lines give none.
///
/// # Panics
///
/// Where it does not hold.
pub fn header(data: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(data) else { return };
    let strict = KeyRules { syntax: Syntax::Strict, ..KeyRules::default() };
    let (in_strict, in_lenient) = (read(&strict, &value), read(&KeyRules::default(), &value));
    if let Ok(key) = &in_strict {
        assert_eq!(in_lenient.as_ref(), Ok(key), "strict mode takes less, never something else");
    }
    if let Ok(key) = in_lenient {
        assert!((1..=255).contains(&key.len()) && key.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{key:?}");
        let quoted = format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""));
        let quoted = HeaderValue::from_str(&quoted).expect("printable ASCII");
        assert_eq!(read(&strict, &quoted), Ok(key), "written anew, it is the same key");
    }
    let mut twice = HeaderMap::new();
    twice.append(IDEMPOTENCY_KEY, value.clone());
    twice.append(IDEMPOTENCY_KEY, value);
    assert_eq!(KeyRules::default().read(&twice, &IDEMPOTENCY_KEY), Err(KeyError::Repeated));
}

fn read(rules: &KeyRules, value: &HeaderValue) -> Result<String, KeyError> {
    let mut headers = HeaderMap::new();
    headers.insert(IDEMPOTENCY_KEY, value.clone());
    rules.read(&headers, &IDEMPOTENCY_KEY).map(|key| key.expect("the field is there"))
}

/// What can be read as a response is written as what reads as the same; and records are read as `serde_json` reads them.
///
/// # Panics
///
/// Where it does not hold.
pub fn record(data: &[u8]) {
    if let Ok(stored) = StoredResponse::from_bytes(&data.into()) {
        let written = stored.to_bytes().expect("it can be written");
        assert_eq!(StoredResponse::from_bytes(&written).expect("what was written can be read"), stored);
    }
    let read = serde_json::from_slice::<StoredResponse>(data).ok();
    assert_eq!(as_a_record_is_read(data), read, "it is read otherwise from a record");
    let Some(stored) = read else { return };
    let written = serde_json::to_vec(&stored).expect("it can be written");
    let read: StoredResponse = serde_json::from_slice(&written).expect("what was written can be read");
    assert_eq!(read, stored);
    let response: Response<Bytes> = stored.into_response();
    assert_eq!((response.status(), response.headers(), response.body()), (read.status, &read.headers, &read.body));
}

/// The way of a value from a record: through the reader that all results are read with.
fn as_a_record_is_read(data: &[u8]) -> Option<StoredResponse> {
    let mut format = serde_json::Deserializer::from_slice(data);
    let mut read = None;
    let reading = from_format(&mut format, |from| {
        read = Some(StoredResponse::deserialize(from)?);
        Ok(())
    });
    reading.and_then(|()| format.end()).ok().and(read)
}
