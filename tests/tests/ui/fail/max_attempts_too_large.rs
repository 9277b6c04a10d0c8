use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = 1h, max_attempts = 10_000_000_000)]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
