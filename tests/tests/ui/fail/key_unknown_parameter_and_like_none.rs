use idempotent_runtime::{Error, idempotent};

struct Order {
    id: u64,
}

#[idempotent(prefix = "order", keys = [message.id], ttl = 1h)]
async fn handler(order: Order, attempt: u32) -> Result<(), Error> {
    Ok(())
}

fn main() {}
