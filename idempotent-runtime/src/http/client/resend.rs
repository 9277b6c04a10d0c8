//! Sending a request until it is answered, for `reqwest`.

use std::num::NonZeroU32;
use std::time::Duration;

use ::http::HeaderMap;
use reqwest::{RequestBuilder, Response};
use tokio::time::{Instant, sleep};

use super::{Advice, IdempotencyKey};
use crate::guard::backoff::jittered;

/// Sends a request with one key until it is answered, or the patience is at its end.
///
/// A request that got no answer, and one that is [to be sent again](Advice), is sent again with the same key: after the
/// time that the server says, else after a pause that doubles. One whose key is [busy](Advice::Wait) is sent again until the
/// patience is at its end, and is no attempt. A request whose body is a stream is sent once.
///
/// ```no_run
/// use std::time::Duration;
/// use idempotent_runtime::http::client::{IdempotencyKey, Resend};
///
/// # async fn pay(client: reqwest::Client) -> Result<(), reqwest::Error> {
/// let key = IdempotencyKey::new(); // one for this payment, whatever happens
/// let request = client.post("https://api.example.com/payments").body(r#"{"amount_minor": 1200}"#);
/// let response = Resend::default().patience(Duration::from_secs(30)).send(request, &key).await?;
/// assert!(response.status().is_success());
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Resend {
    attempts: NonZeroU32,
    patience: Duration,
    first_pause: Duration,
}

/// The longest pause that is not the server's wish.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

impl Default for Resend {
    fn default() -> Self {
        let attempts = const { NonZeroU32::new(5).unwrap() };
        Self { attempts, patience: Duration::from_mins(1), first_pause: Duration::from_millis(200) }
    }
}

impl Resend {
    /// How many times the request is sent at most, the first one included: 5 by default. Those that found the first one
    /// being processed do not count.
    pub const fn attempts(mut self, attempts: NonZeroU32) -> Self {
        self.attempts = attempts;
        self
    }

    /// For how long no further attempt begins later: a minute by default.
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The first pause where the server says none; it doubles with every attempt, to 10 s at the most. 200 ms by default.
    pub const fn first_pause(mut self, pause: Duration) -> Self {
        self.first_pause = pause;
        self
    }

    /// Sends `request` with `key`, in place of a key that it may have.
    ///
    /// # Errors
    ///
    /// That of the last attempt, where it got no answer.
    pub async fn send(&self, request: RequestBuilder, key: &IdempotencyKey) -> Result<Response, reqwest::Error> {
        let mut request = Some(request.headers(HeaderMap::from_iter([key.header()])));
        let begun = Instant::now();
        let mut attempt = 1;
        loop {
            // A body that cannot be sent twice takes the request itself.
            let again = request.as_ref().and_then(RequestBuilder::try_clone);
            let Some(now) = request.take() else { unreachable!("kept below") };
            let answer = now.send().await;
            let advice = match &answer {
                Ok(response) => Advice::of(response.status(), response.headers()),
                Err(error) if error.is_builder() => Advice::Done,
                Err(_) => Advice::Again(None),
            };
            let pause = match advice {
                Advice::Done => None,
                Advice::Wait(pause) => Some(pause.max(self.pause(1))),
                Advice::Again(_) if attempt == self.attempts.get() => None,
                Advice::Again(after) => {
                    attempt += 1;
                    Some(after.unwrap_or_else(|| self.pause(attempt - 1)))
                }
            };
            // However long a pause a server asks for: nothing is added up that may not fit.
            let left = self.patience.saturating_sub(begun.elapsed());
            let (Some(pause), Some(again)) = (pause.filter(|pause| *pause < left), again) else { return answer };
            drop(answer);
            sleep(pause).await;
            request = Some(again);
        }
    }

    fn pause(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(16);
        jittered(self.first_pause.saturating_mul(1 << doublings).min(LONGEST_PAUSE))
    }
}
