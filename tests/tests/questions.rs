//! `existing` and `verify` through the attribute: they use the handler's arguments, which the body then still owns.

#![warn(clippy::all, clippy::pedantic, clippy::nursery)]
#![deny(unused)]
// One thread runs each test.
#![allow(clippy::future_not_send, clippy::unused_async)]

use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::rc::Rc;
use std::time::Duration;

use idempotent_runtime::{Error, ErrorKind, Idempotency, OutcomeKind, idempotent, with_outcome};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

thread_local! {
    /// Runs of bodies in the test that this thread is.
    static RUNS: Cell<u64> = const { Cell::new(0) };
}

/// What every body does: counts its runs.
fn ran() -> u64 {
    RUNS.set(RUNS.get() + 1);
    RUNS.get()
}

#[derive(Debug, PartialEq, Eq)]
enum Failure {
    Down,
    Refused(ErrorKind),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error.kind())
    }
}

/// Runs a test under a store of its own.
async fn on_memory<T>(test: impl Future<Output = T>) -> T {
    Idempotency::memory().scope(test).await
}

/// What the business knows of receipts.
#[derive(Default)]
struct Receipts {
    written: RefCell<Vec<Receipt>>,
    down: Cell<bool>,
    asked: Cell<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Receipt {
    order: String,
    run: u64,
}

#[derive(Debug)]
struct Order(String);

fn order() -> Order {
    Order("o-7".to_owned())
}

impl Receipts {
    async fn find(&self, order: &str) -> Result<Option<Receipt>, Failure> {
        self.asked.set(self.asked.get() + 1);
        tokio::task::yield_now().await;
        if self.down.get() {
            return Err(Failure::Down);
        }
        Ok(self.written.borrow().iter().find(|receipt| receipt.order == order).cloned())
    }

    async fn has(&self, order: &str) -> Result<bool, Failure> {
        self.find(order).await.map(|receipt| receipt.is_some())
    }

    async fn write(&self, order: Order) -> Result<Receipt, Failure> {
        let receipt = Receipt { order: order.0, run: ran() };
        self.written.borrow_mut().push(receipt.clone());
        tokio::task::yield_now().await;
        Ok(receipt)
    }

    #[idempotent(prefix = "existing", keys = [order.0], ttl = 1h, on_crash = hold, existing = self.find(&order.0))]
    async fn existing(&self, order: Order, hangs: bool) -> Result<Receipt, Failure> {
        if hangs {
            pending::<()>().await;
        }
        self.write(order).await
    }

    #[idempotent(prefix = "verify", keys = [order.0], ttl = 1h, verify = self.has(&order.0))]
    async fn verify(&self, order: Order) -> Result<Receipt, Failure> {
        self.write(order).await
    }
}

mod existing {
    use super::*;

    #[tokio::test]
    async fn an_effect_that_is_there_is_recorded_and_returned() {
        on_memory(async {
            let receipts = Receipts::default();
            let written = receipts.write(order()).await.unwrap();
            let (result, outcome) = with_outcome(receipts.existing(order(), false)).await;
            assert_eq!((result.as_ref(), outcome.kind()), (Ok(&written), OutcomeKind::Existing));
            let (result, outcome) = with_outcome(receipts.existing(order(), false)).await;
            assert_eq!((result.as_ref(), outcome.kind()), (Ok(&written), OutcomeKind::Replayed));
            assert_eq!((RUNS.get(), receipts.asked.get()), (1, 1));
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn it_settles_a_run_that_stopped_half_way() {
        on_memory(async {
            let receipts = Receipts::default();
            let dropped = timeout(Duration::from_secs(1), receipts.existing(order(), true));
            assert!(dropped.await.is_err(), "it hangs");
            // What it leaves behind is settled in the background.
            tokio::task::yield_now().await;
            receipts.down.set(true);
            assert_eq!(receipts.existing(order(), false).await, Err(Failure::Down));
            receipts.down.set(false);
            assert_eq!(receipts.existing(order(), false).await.unwrap().run, 1, "nothing was written: it ran");
        })
        .await;
    }

    #[idempotent(
        prefix = "types",
        keys = [name],
        ttl = 1h,
        existing = async { if name.is_empty() { Err(Failure::Down)? } Ok(None) },
        verify = std::future::ready(Ok(true)),
    )]
    async fn types_are_inferred(name: &str) -> Result<Vec<Option<u8>>, Failure> {
        ran();
        Ok(vec![None])
    }

    #[idempotent(prefix = "owned", keys = [name], ttl = 1h, on_duplicate = reject, existing = find(name.clone()))]
    async fn owned(name: String) -> Result<Rc<str>, Failure> {
        ran();
        Ok(name.into())
    }

    async fn find(name: String) -> Result<Option<Rc<str>>, Failure> {
        Ok(Some("found".into()).filter(|_| name == "known"))
    }

    #[tokio::test]
    async fn it_takes_what_the_function_returns() {
        on_memory(async {
            assert_eq!(types_are_inferred("a").await, Ok(vec![None]));
            assert_eq!(types_are_inferred("a").await, Ok(vec![None]));
            assert_eq!(owned("known".to_owned()).await, Ok("found".into()));
            assert_eq!(owned("new".to_owned()).await, Ok("new".into()));
            assert_eq!(owned("known".to_owned()).await, Err(Failure::Refused(ErrorKind::Duplicate)));
            assert_eq!(RUNS.get(), 2);
        })
        .await;
    }

    #[tokio::test]
    async fn its_future_is_send_where_the_question_and_the_body_are() {
        #[idempotent(prefix = "send", keys = [order.0], ttl = 1h, existing = lookup(&order), verify = check(&order))]
        async fn handler(order: Order) -> Result<String, Failure> {
            Ok(order.0)
        }

        async fn lookup(_: &Order) -> Result<Option<String>, Failure> {
            Ok(None)
        }

        async fn check(_: &Order) -> Result<bool, Failure> {
            Ok(true)
        }

        assert_eq!(tokio::spawn(handler(order())).await.unwrap(), Err(Failure::Refused(ErrorKind::NotInstalled)));
    }
}

mod verify {
    use super::*;

    #[tokio::test]
    async fn a_record_stands_as_long_as_its_effect_does() {
        on_memory(async {
            let receipts = Receipts::default();
            assert_eq!(receipts.verify(order()).await.unwrap().run, 1);
            assert_eq!(receipts.asked.get(), 0, "there was nothing to ask about");
            assert_eq!(receipts.verify(order()).await.unwrap().run, 1, "replayed");
            receipts.written.borrow_mut().clear();
            assert_eq!(receipts.verify(order()).await.unwrap().run, 2, "rolled back: it ran again");
            receipts.down.set(true);
            assert_eq!(receipts.verify(order()).await, Err(Failure::Down));
            receipts.down.set(false);
            assert_eq!(receipts.verify(order()).await.unwrap().run, 2, "as before");
        })
        .await;
    }

    #[tokio::test]
    async fn it_is_asked_whatever_a_duplicate_gets() {
        #[idempotent(prefix = "rejects", keys = [order.0], ttl = 1h, on_duplicate = reject, verify = receipts.has(&order.0))]
        async fn rejects(receipts: &Receipts, order: Order) -> Result<Receipt, Failure> {
            receipts.write(order).await
        }

        #[idempotent(prefix = "skips", keys = [order.0], ttl = 1h, on_duplicate = skip, verify = receipts.has(&order.0))]
        async fn skips(receipts: &Receipts, order: Order) -> Result<Option<Receipt>, Failure> {
            receipts.write(order).await.map(Some)
        }

        on_memory(async {
            let receipts = Receipts::default();
            assert!(rejects(&receipts, order()).await.is_ok());
            assert_eq!(rejects(&receipts, order()).await, Err(Failure::Refused(ErrorKind::Duplicate)));
            assert!(skips(&receipts, order()).await.unwrap().is_some());
            assert_eq!(skips(&receipts, order()).await, Ok(None));
            receipts.written.borrow_mut().clear();
            assert!(rejects(&receipts, order()).await.is_ok());
            receipts.written.borrow_mut().clear();
            assert!(skips(&receipts, order()).await.unwrap().is_some());
        })
        .await;
    }
}
