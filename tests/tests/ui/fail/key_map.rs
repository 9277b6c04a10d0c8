use idempotent_runtime::{Error, idempotent};

struct Order {
    tags: std::collections::HashMap<String, String>,
}

#[idempotent(prefix = "order", keys = [order.tags], ttl = 1h)]
async fn handler(order: Order) -> Result<(), Error> {
    Ok(())
}

fn main() {}
