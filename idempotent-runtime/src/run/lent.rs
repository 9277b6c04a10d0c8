//! A transaction that is lent to a body, and comes back when the body is gone.
//!
//! A closure that gets `&mut C` and returns a future of it would have to be general over the lifetime, and the compiler
//! cannot show such futures to be `Send`. What is lent has one lifetime, and hands the reference back when it is dropped.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorKind};

/// The caller's transaction, while the body of a call has it: it is used as a `&mut` of it is.
pub struct Lent<'t, C: ?Sized> {
    transaction: Option<&'t mut C>,
    home: Home<'t, C>,
}

type Home<'t, C> = Arc<Mutex<Option<&'t mut C>>>;

impl<C: ?Sized> Deref for Lent<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        match &self.transaction {
            Some(transaction) => transaction,
            None => unreachable!("it is handed back when it is dropped"),
        }
    }
}

impl<C: ?Sized> DerefMut for Lent<'_, C> {
    fn deref_mut(&mut self) -> &mut C {
        match &mut self.transaction {
            Some(transaction) => transaction,
            None => unreachable!("it is handed back when it is dropped"),
        }
    }
}

impl<C: ?Sized> Drop for Lent<'_, C> {
    fn drop(&mut self) {
        *locked(&self.home) = self.transaction.take();
    }
}

impl<C: ?Sized> fmt::Debug for Lent<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent").finish_non_exhaustive()
    }
}

/// Where the transaction is, unless it is lent.
pub(super) struct Place<'t, C: ?Sized> {
    here: Option<&'t mut C>,
    lent: Option<Home<'t, C>>,
}

impl<'t, C: ?Sized> Place<'t, C> {
    pub(super) fn new(transaction: &'t mut C) -> Self {
        Self { here: Some(transaction), lent: None }
    }

    /// The transaction; nothing, if it was lent and has not come back.
    pub(super) fn get(&mut self) -> Option<&mut C> {
        if let Some(home) = self.lent.take() {
            self.here = locked(&home).take();
        }
        self.here.as_deref_mut()
    }

    pub(super) fn lend(&mut self) -> Option<Lent<'t, C>> {
        let transaction = self.here.take()?;
        let home = Home::default();
        self.lent = Some(Arc::clone(&home));
        Some(Lent { transaction: Some(transaction), home })
    }
}

fn locked<'a, 't, C: ?Sized>(home: &'a Home<'t, C>) -> MutexGuard<'a, Option<&'t mut C>> {
    // Nothing inside can panic.
    home.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever keeps the transaction keeps the claim open, so it cannot be committed.
pub(super) fn kept() -> Error {
    Error::new(ErrorKind::TransactionFailed).detail("the handler has kept the transaction for itself")
}
