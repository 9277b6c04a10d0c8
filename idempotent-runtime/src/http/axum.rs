//! The runtime's errors as axum's responses.

use axum::body::Body;
use axum::response::{IntoResponse, Response};

use super::answer::{Problems, ToldByError};
use super::problem::Problem;
use crate::error::Error;
use crate::outcome::Outcome;

/// The problem that the error is to a client, with its status and `Retry-After`, and the [`Outcome`] in the response's
/// extensions, where a layer further out finds kind and key for its log. Nothing stored and no key is told.
///
/// Inside an [`IdempotencyLayer`](super::IdempotencyLayer) the problem has that layer's
/// [`documentation`](super::LayerBuilder::documentation) and [`status`](super::LayerBuilder::status), as its own problems have.
///
/// ```
/// use std::time::Duration;
/// use axum::response::IntoResponse;
/// use idempotent_runtime::{Error, Idempotency, Outcome};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let idempotency = Idempotency::memory();
/// let pay = |amount: u32| {
///     let call = idempotency.call("pay").key(1001).fingerprint(&amount).ttl(Duration::from_mins(1));
///     call.run(async move { Ok::<_, Error>(amount) })
/// };
/// pay(12).await.unwrap();
///
/// let response = pay(13).await.unwrap_err().into_response();
/// assert_eq!(response.status(), 422);
/// assert_eq!(response.headers()["content-type"], "application/problem+json");
/// assert_eq!(response.extensions().get::<Outcome>().unwrap().key(), Some("pay:1001"));
/// # }
/// ```
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let problem = Problem::of(&self);
        let told = ToldByError { problem, detail: problem.detail_inside(), after: self.retry_after() };
        let mut response: Response<Body> = Problems::default().answer(problem, told.detail, told.after);
        response.extensions_mut().insert(told);
        response.extensions_mut().insert(Outcome::refused(&self));
        response
    }
}
