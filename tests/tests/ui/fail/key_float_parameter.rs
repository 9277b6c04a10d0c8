use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [price], ttl = 1h)]
async fn handler(price: f64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
