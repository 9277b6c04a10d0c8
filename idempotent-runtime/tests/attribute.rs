//! The attribute on the runtime: the README's handler, as a user writes it.

use idempotent_runtime::{Error, Idempotency, OutcomeKind, idempotent, with_outcome};
use serde::{Deserialize, Serialize};

struct OrderMessage {
    order_id: u64,
    activity_id: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Receipt {
    total: u32,
}

#[derive(Debug)]
struct OrderError;

impl From<Error> for OrderError {
    fn from(error: Error) -> Self {
        panic!("no call is refused here: {error}")
    }
}

#[idempotent(prefix = "order:consume", keys = [message.order_id, message.activity_id], ttl = 24h)]
async fn consume(message: OrderMessage) -> Result<Receipt, OrderError> {
    let OrderMessage { order_id, .. } = message;
    Ok(Receipt { total: u32::try_from(order_id).unwrap() })
}

#[tokio::test]
async fn the_annotated_handler_runs_once() {
    let message = || OrderMessage { order_id: 1001, activity_id: "spring".into() };
    Idempotency::memory()
        .scope(async {
            for kind in [OutcomeKind::Executed, OutcomeKind::Replayed] {
                let (receipt, outcome) = with_outcome(consume(message())).await;
                assert_eq!(receipt.unwrap(), Receipt { total: 1001 });
                assert_eq!((outcome.kind(), outcome.key()), (kind, Some("order:consume:1001:spring")));
            }
        })
        .await;
}
