//! What all pages have in common.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{FromRequestParts, NestedPath};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use super::Desk;
use crate::admin::Standing;
use crate::error::{Error, ErrorKind};
use crate::store::Retention;

/// Where the pages are mounted: what stands in front of every link.
#[derive(Clone, Debug)]
pub(super) struct Base(String);

impl Base {
    pub(super) fn new(path: &str) -> Self {
        Self(path.trim_end_matches('/').to_owned())
    }

    pub(super) fn link(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// The page of one record.
    pub(super) fn record(&self, key: &str) -> String {
        self.link(&format!("/record?key={}", escape(key)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Base {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        // None where nobody has nested them.
        let nested = NestedPath::from_request_parts(parts, state).await.ok();
        Ok(Self::new(nested.as_ref().map_or("", NestedPath::as_str)))
    }
}

/// Whether the page's script may look for news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    Live,
    Still,
}

/// A whole page.
pub(super) fn page(desk: &Desk, base: &Base, title: &str, news: News, main: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · idempotent" }
                link rel="stylesheet" href=(base.link("/style.css"));
                script src=(base.link("/live.js")) defer {}
            }
            body {
                a.skip href="#main" { "To the content" }
                header {
                    p.brand { a href=(base.link("/")) { "idempotent" } }
                    nav aria-label="Pages" {
                        a href=(base.link("/")) { "Now" }
                        a href=(base.link("/records")) { "Records" }
                        a href=(base.link("/counts")) { "Counts" }
                    }
                    form.search role="search" action=(base.link("/record")) method="get" {
                        label for="key" { "Key" }
                        input id="key" name="key" type="search" autocomplete="off" spellcheck="false"
                            placeholder="order:consume:1001" required;
                        button { "Look up" }
                    }
                    p.store { (desk.idempotency.store().name()) @if !desk.writable { " · read-only" } }
                }
                main id="main" tabindex="-1" data-live=[(news == News::Live).then_some("5")] { (main) }
            }
        }
    }
}

/// A problem, as a page.
pub(super) fn problem(desk: &Desk, base: &Base, error: &Error) -> Response {
    let status = match error.kind() {
        ErrorKind::StoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Busy | ErrorKind::Mismatch => StatusCode::CONFLICT,
        ErrorKind::Configuration => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    refusal(desk, base, status, &error.to_string())
}

/// A refusal in words of the page's own.
pub(super) fn refusal(desk: &Desk, base: &Base, status: StatusCode, why: &str) -> Response {
    let main = html! {
        h1 { "That did not work" }
        p.problem role="alert" { (why) }
    };
    (status, page(desk, base, "That did not work", News::Still, &main)).into_response()
}

/// A state, told apart by more than its colour.
pub(super) fn badge(standing: Standing) -> Markup {
    let mark = match standing {
        Standing::InProgress => "▶",
        Standing::Abandoned => "!",
        Standing::Failed => "×",
        Standing::Completed => "✓",
        Standing::Unreadable => "?",
    };
    html! { span class={ "state " (standing.as_str()) } { span aria-hidden="true" { (mark) " " } (standing.as_str()) } }
}

/// A time as people say it, in its two largest units.
pub(super) fn time(time: Duration) -> String {
    const UNITS: [(u128, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    let millis = time.as_millis();
    let Some(first) = UNITS.iter().position(|(length, _)| millis >= *length) else {
        return if millis == 0 { format!("{} µs", time.as_micros()) } else { format!("{millis} ms") };
    };
    let (length, unit) = UNITS[first];
    let large = format!("{} {unit}", millis / length);
    match UNITS.get(first + 1).map(|(smaller, unit)| (millis % length / smaller, unit)) {
        Some((rest, unit)) if rest > 0 => format!("{large} {rest} {unit}"),
        _ => large,
    }
}

pub(super) fn retention(retention: Retention) -> String {
    match retention {
        Retention::For(left) => time(left),
        Retention::Forever => "never".to_owned(),
    }
}

/// Text in a link's query.
pub(super) fn escape(text: &str) -> String {
    use std::fmt::Write as _;

    text.bytes().fold(String::with_capacity(text.len()), |mut escaped, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => escaped.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => drop(write!(escaped, "%{byte:02X}")),
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_two_units() {
        let said = [0, 7, 999, 1_000, 61_000, 3_600_000, 90_000_000].map(|millis| time(Duration::from_millis(millis)));
        assert_eq!(said, ["0 µs", "7 ms", "999 ms", "1 s", "1 min 1 s", "1 h", "1 d 1 h"]);
        assert_eq!(time(Duration::from_micros(128)), "128 µs");
    }

    #[test]
    fn keys_are_escaped_in_links() {
        assert_eq!(Base::new("/admin/").record("a:b%3A&c é"), "/admin/record?key=a%3Ab%253A%26c%20%C3%A9");
    }
}
