//! What an answer means to whoever would send the request again.

use std::time::Duration;

use ::http::header::RETRY_AFTER;
use ::http::{HeaderMap, StatusCode};

/// What to make of an answer to a request that was sent with an idempotency key.
///
/// | answer | advice |
/// |---|---|
/// | 409 or 423 with `Retry-After`: the first request is under way | `Wait` for so long |
/// | 408, 425, 429 and 500 to 504: nothing is known, or nothing was run | `Again` |
/// | everything else: an answer, also 422 (the key was used for something else) and a 409 of the application | `Done` |
///
/// Both mean the same request with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Take the answer: to send the request again would not change it.
    Done,
    /// The first request is being processed. Wait for so long, and send this one again: that costs the server nothing, and
    /// is no further attempt.
    Wait(Duration),
    /// Send it again, with the same key; after this time, where the server says one.
    Again(Option<Duration>),
}

impl Advice {
    /// What to make of an answer with this status and these headers.
    ///
    /// ```
    /// use std::time::Duration;
    /// use http::{HeaderMap, StatusCode};
    /// use idempotent_runtime::http::client::Advice;
    ///
    /// let mut headers = HeaderMap::new();
    /// assert_eq!(Advice::of(StatusCode::CONFLICT, &headers), Advice::Done, "a conflict of the application's");
    /// headers.insert("retry-after", "2".parse().unwrap());
    /// assert_eq!(Advice::of(StatusCode::CONFLICT, &headers), Advice::Wait(Duration::from_secs(2)));
    /// ```
    #[must_use]
    pub fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        // A date is left to the caller's own pause: two clocks would have to agree on it.
        let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let after = seconds.map(Duration::from_secs);
        match (status.as_u16(), after) {
            (409 | 423, Some(after)) => Self::Wait(after),
            (408 | 425 | 429 | 500..=504, after) => Self::Again(after),
            _ => Self::Done,
        }
    }
}
