use idempotent_runtime::{Error, idempotent};

mod orders {
    pub struct Order {
        id: u64,
    }
}
use orders::Order;

#[idempotent(prefix = "order", keys = [order.id], ttl = 1h)]
async fn handler(order: Order) -> Result<(), Error> {
    Ok(())
}

fn main() {}
