//! Which responses are stored.

use std::time::Duration;

use ::http::StatusCode;
use ::http::response::Parts;

use super::answer::OwnAnswer;

/// What a handler says about its own response: put it into the response's extensions.
///
/// ```
/// use std::time::Duration;
///
/// use axum::Extension;
/// use axum::http::StatusCode;
/// use axum::response::IntoResponse;
/// use idempotent_runtime::http::Keep;
///
/// async fn order_ticket() -> impl IntoResponse {
///     // Sold out today is not sold out tomorrow: a retry is to look again.
///     (StatusCode::CONFLICT, Extension(Keep::never()), "sold out")
/// }
///
/// async fn quote() -> impl IntoResponse {
///     (Extension(Keep::by_status().ttl(Duration::from_mins(5))), "12.00 EUR")
/// }
/// # drop((order_ticket, quote));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "put it into the response's extensions"]
pub struct Keep {
    wish: Option<Wish>,
    ttl: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Always,
    Never,
}

impl Keep {
    /// Stored if its status says so: as without this.
    pub const fn by_status() -> Self {
        Self { wish: None, ttl: None }
    }

    /// Stored, whatever its status.
    pub const fn always() -> Self {
        Self { wish: Some(Wish::Always), ttl: None }
    }

    /// Not stored: a retry runs again.
    pub const fn never() -> Self {
        Self { wish: Some(Wish::Never), ttl: None }
    }

    /// For how long it is kept, in place of the layer's ttl; at least 10 ms.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }
}

/// What becomes of a response with a status of 500 or more.
///
/// ```
/// use idempotent_runtime::Idempotency;
/// use idempotent_runtime::http::{IdempotencyLayer, ServerErrors};
///
/// # fn main() -> Result<(), idempotent_runtime::Error> {
/// // A payment that failed half way may have been made: nobody but a person can say.
/// let builder = IdempotencyLayer::builder(&Idempotency::memory()).unscoped();
/// let layer = builder.server_errors(ServerErrors::Hold).build()?;
/// assert_eq!(layer.policy().server_errors, "held");
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerErrors {
    /// It is stored: retries get it again.
    Store,
    /// It is not stored: a retry runs again.
    #[default]
    Release,
    /// Nobody can know what was done: nothing runs under the key until somebody has resolved the record, and retries are
    /// told so. It is what a handler's panic, or a crash of the server, is taken for as well.
    Hold,
}

/// What is to be done about a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Afterwards {
    Store(Option<Duration>),
    Release,
    Hold,
}

pub(super) fn afterwards(response: &Parts, server_errors: ServerErrors) -> Afterwards {
    if response.extensions.get::<OwnAnswer>().is_some() {
        return Afterwards::Release;
    }
    let Keep { wish, ttl } = response.extensions.get().copied().unwrap_or_default();
    match wish {
        Some(Wish::Always) => Afterwards::Store(ttl),
        Some(Wish::Never) => Afterwards::Release,
        None => match by_status(response.status, server_errors) {
            Afterwards::Store(_) => Afterwards::Store(ttl),
            other => other,
        },
    }
}

fn by_status(status: StatusCode, server_errors: ServerErrors) -> Afterwards {
    match status {
        // They say something about the moment or the caller, not about the action.
        StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::TOO_EARLY
        | StatusCode::TOO_MANY_REQUESTS => Afterwards::Release,
        status if status.as_u16() < 500 => Afterwards::Store(None),
        _ => match server_errors {
            ServerErrors::Store => Afterwards::Store(None),
            ServerErrors::Release => Afterwards::Release,
            ServerErrors::Hold => Afterwards::Hold,
        },
    }
}
