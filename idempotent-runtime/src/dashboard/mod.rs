//! A page for whoever is on duty: what waits for a decision, what is in progress, what the handlers of this process do.
//!
//! Mounted in an application, behind its own authentication, it also shows what the handlers of that process do:
//!
//! ```
//! use axum::Router;
//! use idempotent_runtime::{Idempotency, dashboard::Dashboard};
//!
//! let idempotency = Idempotency::memory();
//! let app: Router = Router::new().nest("/idempotency", Dashboard::of(&idempotency).router());
//! # drop(app);
//! ```
//!
//! Of a record it also shows what that process has seen of its key lately: how calls ended, and who decided what, and why.
//!
//! With the feature `registry` it names all annotated handlers, also those that nobody has called yet.
//!
//! `idempotent dashboard` serves the same page for a store alone. It can be read without JavaScript, changes nothing
//! unless it is [`writable`](Dashboard::writable), and hides results unless it is told to
//! [show them](Dashboard::show_results).
//!
//! Whoever can reach the page can read keys, and a key may name a person: mount it behind an authentication.

mod decide;
mod guarded;
mod history;
mod page;
mod records;
mod tally;
mod welcome;

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::middleware::from_fn;
use axum::response::IntoResponse;
use axum::routing::get;
use rand::distr::{Alphanumeric, SampleString as _};

use crate::idempotency::Idempotency;

pub(crate) use tally::Tally;

/// The page's settings.
#[derive(Clone)]
#[must_use = "`router` gives the pages"]
pub struct Dashboard {
    idempotency: Idempotency,
    writable: bool,
    results: Results,
}

/// Whether results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Results {
    Hidden,
    Shown,
}

/// What every page needs.
struct Desk {
    idempotency: Idempotency,
    writable: bool,
    results: Results,
    /// Stands in every form: another site cannot read it, and so cannot send one.
    form_token: String,
}

impl Dashboard {
    /// The page of a handle's store, and of the calls that are made on that handle from now on. Nothing can be changed,
    /// and results are hidden.
    pub fn of(idempotency: &Idempotency) -> Self {
        idempotency.core().tally.get_or_init(Tally::default);
        Self { idempotency: idempotency.clone(), writable: false, results: Results::Hidden }
    }

    /// Lets whoever can reach the page release and resolve records. Each change is told to the audit log, with the name
    /// and the reason that they give.
    pub fn writable(mut self) -> Self {
        self.writable = true;
        self
    }

    /// Shows the results that are recorded, or the errors.
    pub fn show_results(mut self) -> Self {
        self.results = Results::Shown;
        self
    }

    /// The pages, to be served at `/` or nested under a path: then the first one is at the path without a slash at its end.
    pub fn router(self) -> Router {
        let Self { idempotency, writable, results } = self;
        let form_token = Alphanumeric.sample_string(&mut rand::rng(), 32);
        let desk = Arc::new(Desk { idempotency, writable, results, form_token });
        let mut router = Router::new()
            .route("/", get(welcome::now))
            .route("/records", get(records::list))
            .route("/record", get(records::one))
            .route("/counts", get(records::counts))
            .route("/style.css", get(async || file("text/css; charset=utf-8", include_str!("style.css"))))
            .route("/live.js", get(async || file("text/javascript; charset=utf-8", include_str!("live.js"))));
        if writable {
            router = router.route("/decide", get(decide::ask).post(decide::carry_out));
        }
        router.layer(from_fn(guarded::with_headers)).with_state(desk)
    }
}

impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dashboard")
            .field("writable", &self.writable)
            .field("results", &self.results)
            .finish_non_exhaustive()
    }
}

fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], text)
}
