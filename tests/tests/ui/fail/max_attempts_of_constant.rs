use idempotent_runtime::{Error, idempotent};

const ATTEMPTS: u32 = 3;

#[idempotent(prefix = "order", keys = [id], ttl = 1h, max_attempts = ATTEMPTS)]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
