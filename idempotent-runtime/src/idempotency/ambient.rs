//! The ambient handle: what an annotated handler uses unless it names one.

use std::future::Future;
use std::sync::Arc;

use once_cell::sync::OnceCell;

use super::Idempotency;
use crate::error::{Error, ErrorKind};

static INSTALLED: OnceCell<Idempotency> = OnceCell::new();

tokio::task_local! {
    static SCOPED: Idempotency;
}

pub(super) fn install(idempotency: Idempotency) -> Result<(), Error> {
    INSTALLED.set(idempotency).map_err(|_| Error::new(ErrorKind::AlreadyInstalled))
}

pub(super) fn scope<F: Future>(idempotency: Idempotency, future: F) -> impl Future<Output = F::Output> {
    SCOPED.scope(idempotency, future)
}

/// The handle that an annotated handler would use here: that of the innermost [`scope`](Idempotency::scope), else the
/// installed one.
#[must_use]
pub fn installed() -> Option<Idempotency> {
    SCOPED.try_with(Clone::clone).ok().or_else(|| INSTALLED.get().cloned())
}

/// The handle of the innermost [`scope`](Idempotency::scope), if there is one: what a new task does not see by itself.
#[cfg(feature = "http")]
pub(super) fn scoped() -> Option<Idempotency> {
    SCOPED.try_with(Clone::clone).ok()
}

/// Something that gives a handle: what the option `via` names.
#[diagnostic::on_unimplemented(
    message = "`via` must give an `Idempotency`, not `{Self}`",
    label = "not an `Idempotency`",
    note = "name a field or a function that gives `&Idempotency`, such as `via = self.idempotency`"
)]
pub trait Via {
    /// The handle.
    ///
    /// # Errors
    ///
    /// `NotInstalled` when there is none.
    fn idempotency(&self) -> Result<Idempotency, Error>;
}

impl Via for Idempotency {
    fn idempotency(&self) -> Result<Idempotency, Error> {
        Ok(self.clone())
    }
}

#[diagnostic::do_not_recommend]
impl<V: Via + ?Sized> Via for &V {
    fn idempotency(&self) -> Result<Idempotency, Error> {
        (**self).idempotency()
    }
}

#[diagnostic::do_not_recommend]
impl<V: Via + ?Sized> Via for Arc<V> {
    fn idempotency(&self) -> Result<Idempotency, Error> {
        (**self).idempotency()
    }
}

/// The ambient handle: what a handler without `via` uses.
#[derive(Clone, Copy, Debug)]
pub struct Ambient;

impl Via for Ambient {
    fn idempotency(&self) -> Result<Idempotency, Error> {
        installed().ok_or_else(|| Error::new(ErrorKind::NotInstalled))
    }
}
