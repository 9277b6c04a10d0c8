use idempotent_runtime::{Error, idempotent};

const REGION: u64 = 7;

#[idempotent(prefix = "order", keys = [REGION], ttl = 1h)]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
