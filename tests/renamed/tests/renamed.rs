//! The attribute and the derive where the runtime crate has another name.

use std::cell::Cell;

use idem::{Error, Idempotency, KeyPart, OnError, idempotent};

thread_local! {
    static RUNS: Cell<u32> = const { Cell::new(0) };
}

#[derive(KeyPart)]
#[key(crate = idem)]
struct OrderId(u64);

#[idempotent(
    prefix = "order",
    keys = [order],
    ttl = 1h,
    on_busy = wait(1s),
    on_crash = hold,
    on_error = |_| OnError::Release,
    existing = async { Ok(None) },
    verify = async { Ok(true) },
    crate = idem,
)]
async fn consume(order: OrderId) -> Result<u64, Error> {
    RUNS.set(RUNS.get() + 1);
    Ok(order.0)
}

#[tokio::test]
async fn the_runtime_goes_by_the_name_that_it_has() {
    Idempotency::memory()
        .scope(async {
            assert_eq!(consume(OrderId(7)).await.expect("it runs"), 7);
            assert_eq!(consume(OrderId(7)).await.expect("it is replayed"), 7);
            assert_eq!(RUNS.get(), 1);
        })
        .await;
}
