use idempotent_runtime::{Error, idempotent};

struct Order {
    id: u64,
}

fn order_key(order: &Order) -> u64 {
    order.id
}

#[idempotent(prefix = "order", keys = [order_key(&oder)], ttl = 1h)]
async fn handler(order: Order) -> Result<(), Error> {
    Ok(())
}

fn main() {}
