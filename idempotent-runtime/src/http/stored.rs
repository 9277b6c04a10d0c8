//! A response in a record.
//!
//! Under the built-in codec it stands as people can read it, and as it can be read quickly: its head as one line of JSON,
//! then the body as it is. A codec of the application's, which may encrypt, gets the whole as a value; there a body that
//! is not UTF-8 stands in base64. Header values, which may be no text either, stand as characters of the same number
//! (ISO 8859-1).

use std::borrow::Cow;
use std::cell::Cell;
use std::error::Error as StdError;
use std::sync::Arc;

use ::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::record::CodecTag;

/// The version of the format: a reader that does not know it answers that the record is unreadable.
const VERSION: u8 = 1;

/// A response as it is recorded, and given to every duplicate: see [`IdempotencyLayer::recorded`]. Written by serde, it is
/// what stands in the record under a codec of the application's.
///
/// [`IdempotencyLayer::recorded`]: super::IdempotencyLayer::recorded
#[derive(Clone, Debug, PartialEq)]
pub struct StoredResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

#[derive(Serialize)]
#[serde(rename = "StoredResponse")]
struct Written<'a> {
    http: u8,
    status: u16,
    headers: Vec<(&'a str, String)>,
    body: WrittenBody<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum WrittenBody<'a> {
    Text(&'a str),
    Base64(String),
}

#[derive(Deserialize)]
#[serde(rename = "StoredResponse")]
struct Read {
    http: u8,
    status: u16,
    headers: Vec<(String, String)>,
    body: ReadBody,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ReadBody {
    Text(String),
    Base64(String),
}

/// What is recorded of a response.
pub(super) enum Recording {
    /// Under the built-in codec: its bytes.
    Bytes(Arc<[u8]>),
    /// Under one of the application's.
    Value(StoredResponse),
}

/// The first line of a response's bytes.
#[derive(Deserialize)]
struct Head<'a> {
    http: u8,
    status: u16,
    #[serde(borrow)]
    headers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl StoredResponse {
    /// What stands in the record as the name of the codec.
    pub(super) const TAG: CodecTag = CodecTag::new("response");

    pub(super) fn new<'a>(
        status: StatusCode,
        headers: impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)>,
        body: Bytes,
    ) -> Self {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.append(name, value.clone());
        }
        Self { status, headers: all, body }
    }

    /// See [`bytes_of`].
    #[cfg(any(test, fuzzing))]
    pub(super) fn to_bytes(&self) -> Option<Arc<[u8]>> {
        bytes_of(self.status, self.headers.iter(), &self.body)
    }

    /// Reads what [`bytes_of`] wrote.
    pub(super) fn from_bytes(bytes: &Arc<[u8]>) -> Result<Self, Box<dyn StdError + Send + Sync>> {
        let end = bytes.iter().position(|&byte| byte == b'\n').ok_or("the response has no head")?;
        let Head { http, status, headers: lines } = serde_json::from_slice(&bytes[..end])?;
        let headers = headers_of(http, &lines)?;
        let body = Bytes::from_owner(Arc::clone(bytes)).slice(end + 1..);
        Ok(Self { status: StatusCode::from_u16(status)?, headers, body })
    }

    pub(super) fn into_response<B: From<Bytes>>(self) -> Response<B> {
        let mut response = Response::new(B::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

thread_local! {
    /// In which the last response was written.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A buffer that has grown beyond this is not kept.
const KEPT_BUFFER: usize = 64 * 1024;

/// The head as a line of JSON, which has no other line break, and the body.
pub(super) fn bytes_of<'a>(
    status: StatusCode,
    headers: impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)>,
    body: &[u8],
) -> Option<Arc<[u8]>> {
    let mut buffer = BUFFER.take();
    buffer.clear();
    let head = WrittenHead { http: VERSION, status: status.as_u16(), headers: Lines(Cell::new(Some(headers))) };
    let written = serde_json::to_writer(&mut buffer, &head);
    buffer.push(b'\n');
    buffer.extend_from_slice(body);
    let bytes = written.is_ok().then(|| Arc::from(&buffer[..]));
    if buffer.capacity() <= KEPT_BUFFER {
        BUFFER.set(buffer);
    }
    bytes
}

#[derive(Serialize)]
#[serde(rename = "Head", bound = "Lines<I>: Serialize")]
struct WrittenHead<I> {
    http: u8,
    status: u16,
    headers: Lines<I>,
}

/// Header lines, which can be written once.
struct Lines<I>(Cell<Option<I>>);

impl<'a, I: Iterator<Item = (&'a HeaderName, &'a HeaderValue)>> Serialize for Lines<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lines = self.0.take().into_iter().flatten();
        serializer.collect_seq(lines.map(|(name, value)| (name.as_str(), text_of(value))))
    }
}

impl Serialize for StoredResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), text_of(value).into_owned())).collect();
        let body = match std::str::from_utf8(&self.body) {
            Ok(text) => WrittenBody::Text(text),
            Err(_) => WrittenBody::Base64(STANDARD.encode(&self.body)),
        };
        Written { http: VERSION, status: self.status.as_u16(), headers, body }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StoredResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Read { http, status, headers: lines, body } = Read::deserialize(deserializer)?;
        let headers = headers_of(http, &lines).map_err(D::Error::custom)?;
        let body = match body {
            ReadBody::Text(text) => text.into_bytes(),
            ReadBody::Base64(text) => STANDARD.decode(text).map_err(D::Error::custom)?,
        };
        let status = StatusCode::from_u16(status).map_err(D::Error::custom)?;
        Ok(Self { status, headers, body: body.into() })
    }
}

fn headers_of<T: AsRef<str>>(version: u8, lines: &[(T, T)]) -> Result<HeaderMap, Box<dyn StdError + Send + Sync>> {
    if version != VERSION {
        return Err(format!("a response of version {version}; this build reads {VERSION}").into());
    }
    // A record that is not ours may hold more lines than there is room for: that must not panic.
    let mut headers = HeaderMap::try_with_capacity(lines.len())?;
    for (name, value) in lines {
        let value = value_of(value.as_ref()).ok_or("a header's value is none")?;
        headers.try_append(HeaderName::from_bytes(name.as_ref().as_bytes())?, value)?;
    }
    Ok(headers)
}

fn text_of(value: &HeaderValue) -> Cow<'_, str> {
    match value.to_str() {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(value.as_bytes().iter().map(|&byte| char::from(byte)).collect()),
    }
}

fn value_of(text: &str) -> Option<HeaderValue> {
    if text.is_ascii() {
        return HeaderValue::from_str(text).ok();
    }
    let bytes: Option<Vec<u8>> = text.chars().map(|char| u8::try_from(char).ok()).collect();
    HeaderValue::from_maybe_shared(Bytes::from(bytes?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(headers: &[(&str, &[u8])], body: &'static [u8]) -> StoredResponse {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_bytes(value).unwrap());
        }
        StoredResponse { status: StatusCode::CREATED, headers: map, body: Bytes::from_static(body) }
    }

    #[test]
    fn a_record_can_be_read_by_people() {
        let one = stored(&[("location", b"/payments/7"), ("warning", b"a"), ("warning", b"b\xe9")], b"{\"id\":7}");
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(
            text,
            r#"{"http":1,"status":201,"headers":[["location","/payments/7"],["warning","a"],["warning","bé"]],"body":{"text":"{\"id\":7}"}}"#
        );
        assert_eq!(serde_json::from_str::<StoredResponse>(&text).unwrap(), one);
    }

    #[test]
    fn the_bytes_of_a_record_can_be_read_by_people_too() {
        let one = stored(&[("location", b"/payments/7"), ("warning", b"b\xe9")], b"line\nline");
        let bytes = one.to_bytes().unwrap();
        let head =
            "{\"http\":1,\"status\":201,\"headers\":[[\"location\",\"/payments/7\"],[\"warning\",\"b\u{e9}\"]]}\n";
        assert_eq!(String::from_utf8_lossy(&bytes), format!("{head}line\nline"));
        assert_eq!(StoredResponse::from_bytes(&bytes).unwrap(), one);
        for wrong in [&b""[..], b"{}\n", b"no head", b"{\"http\":2,\"status\":200,\"headers\":[]}\n", b"12\nx"] {
            assert!(StoredResponse::from_bytes(&wrong.into()).is_err(), "{}", wrong.escape_ascii());
        }
    }

    #[test]
    fn every_body_comes_back_byte_by_byte() {
        for body in [&b""[..], b"plain", "é\u{0}\u{2028}".as_bytes(), b"\xff\xfe\x00", b"\x1f\x8b\x08"] {
            let one = stored(&[], body);
            let text = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str::<StoredResponse>(&text).unwrap(), one, "{text}");
            assert_eq!(StoredResponse::from_bytes(&one.to_bytes().unwrap()).unwrap(), one);
        }
    }

    #[test]
    fn what_is_no_response_is_refused() {
        for wrong in [
            r#"{"http":2,"status":200,"headers":[],"body":{"text":""}}"#,
            r#"{"http":1,"status":99,"headers":[],"body":{"text":""}}"#,
            r#"{"http":1,"status":200,"headers":[["a b","x"]],"body":{"text":""}}"#,
            r#"{"http":1,"status":200,"headers":[["a","x\ny"]],"body":{"text":""}}"#,
            r#"{"http":1,"status":200,"headers":[["a","€"]],"body":{"text":""}}"#,
            r#"{"http":1,"status":200,"headers":[],"body":{"base64":"!"}}"#,
            r#"{"http":1,"status":200,"headers":[],"body":{}}"#,
            "12",
        ] {
            assert!(serde_json::from_str::<StoredResponse>(wrong).is_err(), "{wrong}");
        }
        let control = r#"{"http":1,"status":200,"headers":[["a","x"]],"body":{"text":""}}"#;
        assert!(serde_json::from_str::<StoredResponse>(control).is_ok());
    }

    #[test]
    fn more_lines_than_there_is_room_for_are_no_response() {
        for (lines, readable) in [(100, true), (25_000, false), (100_000, false)] {
            let headers = serde_json::to_string(&vec![["a", "b"]; lines]).unwrap();
            let head = format!(r#"{{"http":1,"status":200,"headers":{headers}"#);
            assert_eq!(StoredResponse::from_bytes(&Arc::from(format!("{head}}}\n").into_bytes())).is_ok(), readable);
            let value = format!(r#"{head},"body":{{"text":""}}}}"#);
            assert_eq!(serde_json::from_str::<StoredResponse>(&value).is_ok(), readable, "{lines}");
        }
    }
}
