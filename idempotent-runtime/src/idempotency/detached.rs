//! Runs that outlive whoever asked for them.

use std::future::Future;

use tokio::task::JoinHandle;
use tracing::{Instrument as _, Span};

use super::{Idempotency, ambient};

/// Runs `future` on a task of its own: whoever waits for its handle may go away. It takes the current tracing span and
/// the handle of the current scope along, and [`shutdown`](Idempotency::shutdown) waits for it.
///
/// Must be called inside a tokio runtime; the task ends with that.
pub(crate) fn detach<F>(idempotency: &Idempotency, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let pending = idempotency.core().keeper.pending();
    let scoped = ambient::scoped();
    let run = async move {
        let _pending = pending;
        match scoped {
            Some(scoped) => ambient::scope(scoped, future).await,
            None => future.await,
        }
    };
    tokio::spawn(run.instrument(Span::current()))
}
