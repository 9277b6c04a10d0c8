//! The bank: another system, which knows idempotency keys too.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::time::sleep;

/// A bank that needs a while.
#[derive(Debug)]
pub(crate) struct Bank {
    work: Duration,
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    payments: Vec<Payment>,
    refunds: Vec<Refund>,
    /// What was done under which of its callers' keys. What came without one is in neither, and never done for another.
    payment_of: HashMap<String, usize>,
    refund_of: HashMap<String, usize>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Payment {
    pub(crate) id: String,
    customer: String,
    amount_minor: u64,
    currency: String,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Refund {
    id: String,
    payment: String,
    amount_minor: u64,
}

/// Why the bank would not.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("there is nothing to pay")]
    NoAmount,
    #[error("no such payment")]
    NoSuchPayment,
    #[error("more than is left of the payment")]
    TooMuch,
}

impl Bank {
    pub(crate) fn new(work: Duration) -> Self {
        Self { work, books: Mutex::default() }
    }

    /// Takes the amount from the customer, once per key; without one, each time.
    pub(crate) async fn pay(
        &self,
        key: Option<String>,
        customer: String,
        amount_minor: u64,
        currency: String,
    ) -> Result<Payment, Refused> {
        if amount_minor == 0 {
            return Err(Refused::NoAmount);
        }
        sleep(self.work).await;
        let mut books = self.books();
        let before = key.as_ref().and_then(|key| books.payment_of.get(key));
        if let Some(done) = before.and_then(|at| books.payments.get(*at)) {
            return Ok(done.clone());
        }
        let at = books.payments.len();
        let payment = Payment { id: format!("pay_{}", at + 1), customer, amount_minor, currency };
        books.payment_of.extend(key.map(|key| (key, at)));
        books.payments.push(payment.clone());
        Ok(payment)
    }

    /// Gives back part of a payment, once per key; without one, each time.
    pub(crate) async fn refund(
        &self,
        key: Option<String>,
        customer: &str,
        payment: &str,
        amount_minor: u64,
    ) -> Result<Refund, Refused> {
        sleep(self.work).await;
        let mut books = self.books();
        let before = key.as_ref().and_then(|key| books.refund_of.get(key));
        if let Some(done) = before.and_then(|at| books.refunds.get(*at)) {
            return Ok(done.clone());
        }
        let paid = books.payments.iter().find(|paid| paid.id == payment && paid.customer == customer);
        let paid = paid.ok_or(Refused::NoSuchPayment)?.amount_minor;
        let before = books.refunds.iter().filter(|refund| refund.payment == payment);
        let refunded: u64 = before.map(|refund| refund.amount_minor).sum();
        if amount_minor == 0 || amount_minor > paid - refunded {
            return Err(Refused::TooMuch);
        }
        let at = books.refunds.len();
        let refund = Refund { id: format!("ref_{}", at + 1), payment: payment.to_owned(), amount_minor };
        books.refund_of.extend(key.map(|key| (key, at)));
        books.refunds.push(refund.clone());
        Ok(refund)
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
