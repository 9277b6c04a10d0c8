//! A response in a record.
//!
//! It goes through the runtime's codec as every result does: as JSON people can read it, and a codec that encrypts
//! covers it. Two things are no text by themselves: header values, whose bytes stand as characters of the same number
//! (ISO 8859-1), and bodies that are not UTF-8, which stand in base64.

use ::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The version of the format: a reader that does not know it answers that the record is unreadable.
const VERSION: u8 = 1;

/// What is given to every duplicate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StoredResponse {
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

impl StoredResponse {
    pub(super) fn into_response<B: From<Bytes>>(self) -> Response<B> {
        let mut response = Response::new(B::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

impl Serialize for StoredResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), text_of(value))).collect();
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
        if http != VERSION {
            return Err(D::Error::custom(format_args!("a response of version {http}; this build reads {VERSION}")));
        }
        let mut headers = HeaderMap::with_capacity(lines.len());
        for (name, value) in &lines {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(D::Error::custom)?;
            let value = value_of(value).ok_or_else(|| D::Error::custom("a header's value is none"))?;
            headers.append(name, value);
        }
        let body = match body {
            ReadBody::Text(text) => text.into_bytes(),
            ReadBody::Base64(text) => STANDARD.decode(text).map_err(D::Error::custom)?,
        };
        let status = StatusCode::from_u16(status).map_err(D::Error::custom)?;
        Ok(Self { status, headers, body: body.into() })
    }
}

fn text_of(value: &HeaderValue) -> String {
    value.as_bytes().iter().map(|&byte| char::from(byte)).collect()
}

fn value_of(text: &str) -> Option<HeaderValue> {
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
    fn every_body_comes_back_byte_by_byte() {
        for body in [&b""[..], b"plain", "é\u{0}\u{2028}".as_bytes(), b"\xff\xfe\x00", b"\x1f\x8b\x08"] {
            let one = stored(&[], body);
            let text = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str::<StoredResponse>(&text).unwrap(), one, "{text}");
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
}
