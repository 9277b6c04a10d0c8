use idempotent_runtime::{Error, idempotent};

struct Order {
    id: u64,
    ttl: std::time::Duration,
}

#[idempotent(prefix = "order", keys = [order.id], ttl = order.tll)]
async fn handler(order: Order) -> Result<(), Error> {
    Ok(())
}

fn main() {}
