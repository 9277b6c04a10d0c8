//! The future of a response.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::http::Response;
use pin_project_lite::pin_project;

use super::body::Body;
use super::settings::Settings;

type Boxed<B, E> = Pin<Box<dyn Future<Output = Result<Response<Body<B>>, E>> + Send>>;

pin_project! {
    /// The future of a response of an [`IdempotencyService`](super::IdempotencyService). `F` is the future of the
    /// service inside, `B` the body of its responses.
    #[must_use = "futures do nothing unless awaited"]
    pub struct ResponseFuture<F, B, E> {
        #[pin]
        kind: Kind<F, B, E>,
    }
}

pin_project! {
    #[project = Projected]
    enum Kind<F, B, E> {
        Passed { #[pin] future: F, settings: Arc<Settings> },
        Answered { response: Option<Box<Response<Body<B>>>> },
        Guarded { future: Boxed<B, E> },
    }
}

impl<F, B, E> ResponseFuture<F, B, E> {
    pub(super) fn passed(future: F, settings: Arc<Settings>) -> Self {
        Self { kind: Kind::Passed { future, settings } }
    }

    pub(super) fn answered(response: Response<Body<B>>) -> Self {
        Self { kind: Kind::Answered { response: Some(Box::new(response)) } }
    }

    pub(super) fn guarded(future: Boxed<B, E>) -> Self {
        Self { kind: Kind::Guarded { future } }
    }
}

impl<F, B, E> Future for ResponseFuture<F, B, E>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<Body<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().kind.project() {
            Projected::Passed { future, settings } => {
                future.poll(cx).map_ok(|response| settings.problems.told_anew(response.map(Body::new)))
            }
            Projected::Answered { response } => match response.take() {
                Some(response) => Poll::Ready(Ok(*response)),
                None => panic!("`ResponseFuture` was polled after it had returned"),
            },
            Projected::Guarded { future } => future.as_mut().poll(cx),
        }
    }
}

impl<F, B, E> fmt::Debug for ResponseFuture<F, B, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.kind {
            Kind::Passed { .. } => "ResponseFuture(passed through)",
            Kind::Answered { .. } => "ResponseFuture(answered)",
            Kind::Guarded { .. } => "ResponseFuture(guarded)",
        })
    }
}
