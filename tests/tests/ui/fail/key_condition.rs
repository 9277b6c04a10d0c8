use idempotent_runtime::{Error, idempotent};

struct Order {
    id: u64,
}

#[idempotent(prefix = "order", keys = [if order.id == 0 { 1 } else { order.id }], ttl = 1h)]
async fn handler(order: Order) -> Result<(), Error> {
    Ok(())
}

fn main() {}
