use idempotent_runtime::{Error, idempotent};

struct Order<'a> {
    name: &'a Name,
}

struct Name(String);

#[idempotent(prefix = "order", keys = [*order.name], ttl = 1h)]
async fn handler(order: Order<'_>) -> Result<(), Error> {
    Ok(())
}

fn main() {}
