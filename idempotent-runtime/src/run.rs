//! The future of a guarded call: the handler's types, wired to the guard.
//!
//! A service has hundreds of handlers, and every line here that knows a handler's types is compiled for each of them. So
//! there are three layers. [`Run`] knows the body's type, and only stores and polls it; [`Wired`] knows the return type,
//! and only gives names to what can be done with it; [`drive`](drive::drive) knows neither, and does all the rest.

mod drive;
mod handled;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod lent;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod within;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use self::drive::drive;
use self::handled::{Body, Typed};
use crate::error::Error;
use crate::guard::Guard;
use crate::reply::{ErrorOps, ValueOps};

/// A call that is ready to run, or the error that it ends in without running; and its reply, once there is one.
pub(crate) struct Wired<R> {
    guard: Option<Result<Box<Guard>, Error>>,
    value: ValueOps<R>,
    error: ErrorOps<R>,
    reply: Option<R>,
}

impl<R> Wired<R> {
    pub(crate) fn new(guard: Result<Box<Guard>, Error>, value: ValueOps<R>, error: ErrorOps<R>) -> Self {
        Self { guard: Some(guard), value, error, reply: None }
    }

    /// Runs `body` under the guard.
    pub(crate) fn run<F: Future<Output = R>>(self, body: F) -> Run<R, F> {
        Run { body: Some(body), call: self }
    }

    fn poll(&mut self, body: Pin<&mut dyn Body<R>>, cx: &mut Context<'_>) -> Poll<R> {
        let Self { guard, value, error, reply } = self;
        ready!(drive(guard, &mut Typed { body, value, error, reply }, cx));
        match reply.take() {
            Some(reply) => Poll::Ready(reply),
            None => unreachable!("a call that has ended has a reply"),
        }
    }
}

pin_project! {
    /// The future of a guarded call.
    ///
    /// Dropped, it first drops the body and then has its claim ended in the background; what that means at each point
    /// is told at the guard.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Run<R, F> {
        // The body comes first: fields are dropped in their order, and the body is to be gone before its claim.
        #[pin]
        body: Option<F>,
        call: Wired<R>,
    }
}

impl<R, F> fmt::Debug for Run<R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}

impl<R, F: Future<Output = R>> Future for Run<R, F> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let this = self.project();
        this.call.poll(this.body, cx)
    }
}
