use idempotent_runtime::{Error, idempotent};

struct Order {
    tags: Vec<u64>,
}

#[idempotent(prefix = "order", keys = [order.tags.first().map(|tag| tag.to_string().as_str())], ttl = 1h)]
async fn handler(order: Order) -> Result<(), Error> {
    Ok(())
}

fn main() {}
