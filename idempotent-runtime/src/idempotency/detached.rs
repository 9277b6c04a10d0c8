//! Runs that outlive whoever asked for them.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tracing::{Instrument as _, Span};

use super::{Idempotency, ambient};
use crate::keeper::Counted;

/// A run that goes on when its caller goes away.
///
/// While somebody waits for it, it is polled where it is awaited, which costs nothing. Dropped before its end, it moves to
/// a task of its own, which takes along what a task does not see by itself: the tracing span and the handle of the scope
/// that were current when it began. [`shutdown`](Idempotency::shutdown) waits for it wherever it runs.
///
/// Dropped unpolled, it was never begun; after a panic, it is over. It ends with its runtime.
pub(crate) struct Outliving<F: Future<Output: Send> + Send + 'static> {
    run: Option<Pin<Box<F>>>,
    begun: Option<Begun>,
    idempotency: Idempotency,
}

struct Begun {
    runtime: Handle,
    span: Span,
    scoped: Option<Idempotency>,
    pending: Counted,
}

impl<F: Future<Output: Send> + Send + 'static> Outliving<F> {
    pub(crate) fn new(idempotency: &Idempotency, run: F) -> Self {
        Self { run: Some(Box::pin(run)), begun: None, idempotency: idempotency.clone() }
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for Outliving<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if self.begun.is_none() {
            let pending = self.idempotency.core().keeper.pending();
            let begun = Begun { runtime: Handle::current(), span: Span::current(), scoped: ambient::scoped(), pending };
            self.begun = Some(begun);
        }
        // Taken out while it is polled: one that panics is not there any more to go on.
        let Some(mut run) = self.run.take() else { panic!("`Outliving` was polled after it had ended") };
        let polled = run.as_mut().poll(cx);
        if polled.is_pending() {
            self.run = Some(run);
        }
        polled
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for Outliving<F> {
    fn drop(&mut self) {
        let (Some(run), Some(begun)) = (self.run.take(), self.begun.take()) else { return };
        let Begun { runtime, span, scoped, pending } = begun;
        let go_on = async move {
            let _pending = pending;
            match scoped {
                Some(scoped) => drop(ambient::scope(scoped, run).await),
                None => drop(run.await),
            }
        };
        drop(runtime.spawn(go_on.instrument(span)));
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::sync::oneshot;
    use tracing_subscriber::Registry;

    use super::*;

    /// The span that is current after somebody has let the run go on.
    async fn span_after(go_on: oneshot::Receiver<()>, tell: oneshot::Sender<Option<tracing::Id>>) {
        go_on.await.expect("it is let go on");
        tell.send(Span::current().id()).expect("somebody listens");
    }

    #[tokio::test]
    async fn a_run_goes_on_in_the_span_in_which_it_began() {
        let _subscriber = tracing::subscriber::set_default(Registry::default());
        let (idempotency, span) = (Idempotency::memory(), tracing::info_span!("request"));
        let ((go_on, waits), (tell, told)) = (oneshot::channel(), oneshot::channel());
        {
            let mut run = pin!(Outliving::new(&idempotency, span_after(waits, tell)).instrument(span.clone()));
            assert!(futures_util::poll!(run.as_mut()).is_pending());
        }
        go_on.send(()).expect("it goes on");
        let current = told.await.expect("it tells");
        assert!(current.is_some(), "spans are on");
        assert_eq!(current, span.id());
    }

    #[tokio::test]
    async fn a_run_that_was_never_polled_is_never_begun() {
        let (tell, told) = oneshot::channel();
        drop(Outliving::new(&Idempotency::memory(), async move { tell.send(()) }));
        assert!(told.await.is_err(), "it was dropped with its channel");
    }
}
