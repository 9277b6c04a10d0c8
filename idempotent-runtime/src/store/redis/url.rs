//! Which server a URL names.

use redis::{Client, ConnectionAddr};

use crate::store::StoreError;

/// Reads `redis://[user[:password]@]host[:port][/db]`. The error never repeats the URL, which may hold a password.
pub(super) fn client(url: &str) -> Result<Client, StoreError> {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    if scheme != Some("redis") {
        let scheme =
            scheme.filter(|scheme| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)));
        return Err(StoreError::refused(match scheme {
            Some(scheme) => format!("a URL of scheme `{scheme}` names no Redis server; write {FORM}"),
            None => format!("the URL has no scheme; write {FORM}"),
        }));
    }
    Client::open(url).map_err(|error| StoreError::refused(format!("the URL cannot be read ({error}); write {FORM}")))
}

const FORM: &str = "redis://[user[:password]@]host[:port][/database]";

/// Host and port of a client's server.
pub(super) fn tcp(client: &Client) -> Result<(&str, u16), StoreError> {
    match client.get_connection_info().addr() {
        ConnectionAddr::Tcp(host, port) => Ok((host, *port)),
        other => Err(StoreError::refused(format!("a connection to {other} is not supported; use TCP without TLS"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_form_is_read() {
        let client = client("redis://shop:s%40cret@cache.example:6380/3").expect("a good URL");
        let settings = client.get_connection_info().redis_settings();
        assert_eq!(tcp(&client).expect("TCP"), ("cache.example", 6380));
        assert_eq!((settings.username(), settings.password(), settings.db()), (Some("shop"), Some("s@cret"), 3));
    }

    #[test]
    fn short_forms_have_the_usual_defaults() {
        let client = client("redis://127.0.0.1/").expect("a good URL");
        assert_eq!(tcp(&client).expect("TCP"), ("127.0.0.1", 6379));
        assert_eq!(client.get_connection_info().redis_settings().db(), 0);
    }

    #[test]
    fn other_urls_are_refused_without_their_password() {
        for (url, says) in [
            ("rediss://:secret@host/", "scheme `rediss`"),
            ("http://:secret@host/", "scheme `http`"),
            ("host:secret", "no scheme"),
            ("se cret://host", "no scheme"),
            ("redis://:secret@host:port/", "cannot be read"),
            ("redis://:secret@host/first", "cannot be read"),
        ] {
            let error = client(url).expect_err(url).to_string();
            assert!(error.contains(says), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
