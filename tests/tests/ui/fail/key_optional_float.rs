use idempotent_runtime::{Error, idempotent};

struct Order {
    price: Option<f64>,
}

#[idempotent(prefix = "order", keys = [order.price], ttl = 1h)]
async fn handler(order: Order) -> Result<(), Error> {
    Ok(())
}

fn main() {}
