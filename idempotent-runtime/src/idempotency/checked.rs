//! A body with its questions in front: what `existing` and `verify` come to in the functional form.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::guard::checks::Ask;

/// No question.
#[derive(Clone, Copy, Debug)]
pub struct Unasked;

/// The question of `existing`.
#[derive(Debug)]
pub struct Existing<F>(pub(super) F);

/// The question of `verify`.
#[derive(Debug)]
pub struct Verify<F>(pub(super) F);

/// A question that comes before a body with the reply `R`.
pub trait Question<R> {
    /// Asks it; `Some` is the reply to return at once.
    fn ask(self) -> Option<impl Future<Output = Option<R>>>;
}

impl<R> Question<R> for Unasked {
    fn ask(self) -> Option<impl Future<Output = Option<R>>> {
        None::<std::future::Ready<Option<R>>>
    }
}

impl<T, E, F: Future<Output = Result<Option<T>, E>>> Question<Result<T, E>> for Existing<F> {
    fn ask(self) -> Option<impl Future<Output = Option<Result<T, E>>>> {
        Some(Ask::existing(self.0))
    }
}

impl<T, E, F: Future<Output = Result<bool, E>>> Question<Result<T, E>> for Verify<F> {
    fn ask(self) -> Option<impl Future<Output = Option<Result<T, E>>>> {
        Some(Ask::verify(self.0))
    }
}

pin_project! {
    /// Asks `verify`, then `existing`, then runs the body. Written out, so that the body is stored once.
    pub(super) struct Checked<V, X, F> {
        #[pin]
        pub(super) verify: Option<V>,
        #[pin]
        pub(super) existing: Option<X>,
        #[pin]
        pub(super) body: F,
    }
}

impl<R, V, X, F> Future for Checked<V, X, F>
where
    V: Future<Output = Option<R>>,
    X: Future<Output = Option<R>>,
    F: Future<Output = R>,
{
    type Output = R;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let mut this = self.project();
        if let Some(verify) = this.verify.as_mut().as_pin_mut() {
            let reply = std::task::ready!(verify.poll(cx));
            this.verify.set(None);
            if let Some(reply) = reply {
                return Poll::Ready(reply);
            }
        }
        if let Some(existing) = this.existing.as_mut().as_pin_mut() {
            let reply = std::task::ready!(existing.poll(cx));
            this.existing.set(None);
            if let Some(reply) = reply {
                return Poll::Ready(reply);
            }
        }
        this.body.poll(cx)
    }
}
