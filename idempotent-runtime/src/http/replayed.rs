//! Which headers of a response are given again.

use ::http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, DATE, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, SET_COOKIE,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE, WWW_AUTHENTICATE,
};
use ::http::{HeaderMap, HeaderValue, StatusCode};

/// Never stored, whatever the application says: they belong to one connection, one moment, or one session.
const NEVER: [HeaderName; 10] = [
    SET_COOKIE,
    WWW_AUTHENTICATE,
    PROXY_AUTHENTICATE,
    AUTHORIZATION,
    PROXY_AUTHORIZATION,
    CONNECTION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// As above, for names without a constant, and `date`.
const NEVER_EITHER: [&str; 11] = [
    "authentication-info",
    "csrf-token",
    "date",
    "keep-alive",
    "proxy-authentication-info",
    "proxy-connection",
    "set-cookie2",
    "x-auth-token",
    "x-csrf-token",
    "x-csrftoken",
    "x-xsrf-token",
];

/// The application's choice among the rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Replayed {
    /// These alone, where it is given.
    pub(super) only: Option<Vec<HeaderName>>,
    /// Not these.
    pub(super) never: Vec<HeaderName>,
}

impl Replayed {
    /// What is stored of `headers`, in their order, repeated ones too. The length stays only where it says something that
    /// the body does not.
    pub(super) fn of<'a>(
        &'a self,
        headers: &'a HeaderMap,
        status: StatusCode,
        length: usize,
    ) -> impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)> {
        let connection = named_by_connection(headers);
        headers.iter().filter(move |(name, value)| {
            let fits = *name != CONTENT_LENGTH || status == StatusCode::NOT_MODIFIED || **value == *length.to_string();
            fits && self.takes(name) && !connection.iter().any(|named| named == name.as_str())
        })
    }

    fn takes(&self, name: &HeaderName) -> bool {
        !NEVER.contains(name)
            && *name != DATE
            && !NEVER_EITHER.contains(&name.as_str())
            && !self.never.contains(name)
            && self.only.as_ref().is_none_or(|only| only.contains(name))
    }
}

/// The headers that a `Connection` header makes hop by hop.
fn named_by_connection(headers: &HeaderMap) -> Vec<String> {
    let lines = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(replayed: &Replayed, headers: &[(&'static str, &'static str)]) -> Vec<String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let stored = replayed.of(&map, StatusCode::OK, 2);
        stored.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
    }

    #[test]
    fn what_belongs_to_a_connection_or_a_session_stays_behind() {
        for name in NEVER_EITHER {
            assert!(of(&Replayed::default(), &[(name, "x")]).is_empty(), "{name}");
        }
        for name in NEVER {
            let mut map = HeaderMap::new();
            map.insert(name.clone(), HeaderValue::from_static("x"));
            assert!(Replayed::default().of(&map, StatusCode::OK, 2).next().is_none(), "{name}");
        }
        let named = [("connection", "X-Hop, close"), ("x-hop", "1"), ("x-end", "2")];
        assert_eq!(of(&Replayed::default(), &named), ["x-end: 2"]);
    }

    #[test]
    fn the_application_chooses_among_the_rest() {
        let headers = [("location", "/1"), ("x-trace", "t"), ("set-cookie", "s")];
        let never = Replayed { never: vec![HeaderName::from_static("x-trace")], only: None };
        assert_eq!(of(&never, &headers), ["location: /1"]);
        let only = vec![HeaderName::from_static("x-trace"), SET_COOKIE];
        let only = Replayed { only: Some(only), never: vec![] };
        assert_eq!(of(&only, &headers), ["x-trace: t"], "a cookie never");
    }

    #[test]
    fn a_length_that_does_not_fit_the_body_is_left_out() {
        assert_eq!(of(&Replayed::default(), &[("content-length", "2")]), ["content-length: 2"]);
        assert!(of(&Replayed::default(), &[("content-length", "3")]).is_empty());
    }
}
