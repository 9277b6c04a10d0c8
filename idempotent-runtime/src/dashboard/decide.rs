//! A person's decision about a record: asked for on a page of its own, which shows what was seen, and carried out only if
//! the record still is as it was seen.

use std::sync::Arc;
use std::time::Duration;

use axum::Form;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::Desk;
use super::page::{Base, News, page, problem, refusal};
use super::records::described;
use crate::admin::{Decision, Inspected};
use crate::error::{Error, ErrorKind};
use crate::key::Key;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum What {
    Release,
    AllowOneMore,
    Resolve,
}

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    what: What,
    key: String,
}

/// What the form sends.
#[derive(Debug, Deserialize)]
pub(super) struct Decided {
    form_token: String,
    what: What,
    key: String,
    /// The record as it was shown, in short.
    seen: String,
    who: String,
    why: String,
    #[serde(default)]
    sure: String,
    #[serde(default)]
    result: String,
    #[serde(default)]
    ttl_hours: String,
}

pub(super) async fn ask(
    State(desk): State<Arc<Desk>>,
    base: Base,
    Query(Asked { what, key }): Query<Asked>,
) -> Response {
    let key = Key::from_text(&key);
    match desk.idempotency.inspect(&key).await {
        Ok(Some(record)) => {
            let main = form(&desk, &base, what, &key, &record);
            page(&desk, &base, what.title(), News::Still, &main).into_response()
        }
        Ok(None) => refusal(&desk, &base, StatusCode::NOT_FOUND, "There is no record of this key any more."),
        Err(error) => problem(&desk, &base, &error),
    }
}

pub(super) async fn carry_out(
    State(desk): State<Arc<Desk>>,
    base: Base,
    headers: HeaderMap,
    Form(decided): Form<Decided>,
) -> Response {
    if !is_ours(&headers) || decided.form_token != desk.form_token {
        let why =
            "The form is not one of this page, or was made before the server was restarted: go back and load it again.";
        return refusal(&desk, &base, StatusCode::FORBIDDEN, why);
    }
    if decided.who.trim().is_empty() || decided.why.trim().is_empty() || decided.sure != "yes" {
        let why = "Say who you are and why, and confirm it. Nothing was changed.";
        return refusal(&desk, &base, StatusCode::BAD_REQUEST, why);
    }
    let key = Key::from_text(&decided.key);
    match change(&desk, &key, &decided).await {
        Ok(()) => Redirect::to(&base.record(key.as_str())).into_response(),
        Err(error) => problem(&desk, &base, &error),
    }
}

/// Browsers say where a form comes from: one of another site is refused, whatever stands in it.
fn is_ours(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin")
        && headers.get(header::ORIGIN).is_none_or(|origin| {
            let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
            let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
            origin.map(|(_, authority)| authority) == host
        })
}

async fn change(desk: &Desk, key: &Key, decided: &Decided) -> Result<(), Error> {
    let idempotency = &desk.idempotency;
    let seen = idempotency.inspect(key).await?.filter(|record| mark(record) == decided.seen).ok_or_else(|| {
        Error::new(ErrorKind::Mismatch)
            .key(key.as_str())
            .detail("the record has changed since it was shown; look again")
    })?;
    let decision = Decision { who: decided.who.trim(), why: decided.why.trim() };
    match decided.what {
        What::Release => idempotency.release(key, &seen, decision).await,
        What::AllowOneMore => idempotency.allow_one_more(key, &seen, decision).await,
        What::Resolve => {
            let result: serde_json::Value = serde_json::from_str(&decided.result)
                .map_err(|why| Error::configuration("the result is not JSON").because(why))?;
            let hours: u32 =
                decided.ttl_hours.parse().ok().filter(|hours| *hours > 0).ok_or_else(|| {
                    Error::configuration("say for how many hours the result is to be kept, one or more")
                })?;
            idempotency.resolve(key, &seen, &result, Duration::from_hours(hours.into()), decision).await
        }
    }
}

/// What must be the same later for the decision to be about what was seen.
fn mark(record: &Inspected) -> String {
    format!("{:?}", record.seen())
}

impl What {
    fn word(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::AllowOneMore => "allow-one-more",
            Self::Resolve => "resolve",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Release => "Release",
            Self::AllowOneMore => "Allow one more attempt",
            Self::Resolve => "Resolve",
        }
    }

    fn consequence(self) -> &'static str {
        match self {
            Self::Release => "The next call with this key runs. Do it if the run is known to have had no effect.",
            Self::AllowOneMore => {
                "The next call with this key runs, once more than max_attempts allows. Do it once the cause is mended."
            }
            Self::Resolve => {
                "The record is completed with your result; every duplicate gets it, and nothing runs. Do it if the effect is \
                 known to have happened."
            }
        }
    }
}

fn form(desk: &Desk, base: &Base, what: What, key: &Key, record: &Inspected) -> Markup {
    html! {
        h1 { (what.title()) " " code { (key) } }
        (described(desk, record))
        p { (what.consequence()) }
        form.decision action=(base.link("/decide")) method="post" {
            input type="hidden" name="form_token" value=(desk.form_token);
            input type="hidden" name="what" value=(what.word());
            input type="hidden" name="key" value=(key);
            input type="hidden" name="seen" value=(mark(record));
            @if what == What::Resolve {
                label { "Result, as JSON " textarea name="result" rows="4" required spellcheck="false" {} }
                label { "Kept for hours " input name="ttl_hours" inputmode="numeric" size="6" value="24" required; }
            }
            label { "Who are you? " input name="who" required autocomplete="username"; }
            label { "Why? " input name="why" required autocomplete="off"; }
            label.check { input type="checkbox" name="sure" value="yes" required; " I have found out what this run did." }
            button.grave { (what.title()) }
            " " a href=(base.record(key.as_str())) { "Leave it as it is" }
        }
    }
}
