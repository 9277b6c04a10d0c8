use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = 1h, existing)]
async fn handler(id: u64) -> Result<u64, Error> {
    Ok(id)
}

fn main() {}
