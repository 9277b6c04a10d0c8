//! The test kit: stores that fail on demand, and gates that stop a handler at a named point.
//!
//! With tokio's paused clock (`#[tokio::test(start_paused = true)]`) and a [`MemoryStore`](crate::MemoryStore) inside,
//! a test says exactly what happens when, and never sleeps:
//!
//! ```
//! use std::time::Duration;
//!
//! use idempotent_runtime::testing::{Fault, FaultyStore, Operation};
//! use idempotent_runtime::{Error, Idempotency, MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
//! // A completion is applied, and its answer lost: it is sent again, and the handler does not run again.
//! let store = FaultyStore::new(MemoryStore::new());
//! let idempotency = Idempotency::with_store(store.clone());
//! store.next(Operation::Complete, Fault::LosesAnswer);
//!
//! let pay = || idempotency.call("pay").key(1001).ttl(Duration::from_secs(60));
//! assert_eq!(pay().run(async { Ok::<_, Error>(12) }).await?, 12);
//! assert_eq!(pay().run(async { Ok::<_, Error>(13) }).await?, 12);
//! assert_eq!(store.calls(Operation::Complete), 2);
//! # Ok(()) }
//! ```
//!
//! To stop a handler half way, give it a [`Gate`]:
//!
//! ```
//! use std::time::Duration;
//!
//! use idempotent_runtime::testing::Gate;
//! use idempotent_runtime::{Error, ErrorKind, Idempotency};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
//! let idempotency = Idempotency::memory();
//! let paid = Gate::new("paid, not yet recorded");
//!
//! let pay = || idempotency.call("pay").key(1001).ttl(Duration::from_secs(60));
//! let at_the_gate = paid.clone();
//! let first = tokio::spawn(pay().run(async move {
//!     at_the_gate.pass().await;
//!     Ok::<_, Error>(12)
//! }));
//! paid.reached().await;
//! assert_eq!(pay().run(async { Ok::<_, Error>(13) }).await.unwrap_err().kind(), ErrorKind::Busy);
//!
//! paid.open();
//! assert_eq!(first.await.unwrap()?, 12);
//! # Ok(()) }
//! ```

mod faulty;
mod gate;
mod history;
mod message;

pub use faulty::{Fault, FaultyStore};
pub use gate::Gate;
pub use history::{Answered, Call, End};
pub use message::Operation;
