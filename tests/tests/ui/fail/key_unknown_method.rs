use idempotent_runtime::{Error, idempotent};

struct Order {
    id: u64,
}

#[idempotent(prefix = "order", keys = [order.get_id()], ttl = 1h)]
async fn handler(order: Order) -> Result<(), Error> {
    Ok(())
}

fn main() {}
