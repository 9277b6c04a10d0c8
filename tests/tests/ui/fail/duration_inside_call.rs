use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = longest(24h))]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
