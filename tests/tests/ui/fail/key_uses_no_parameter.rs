use idempotent_runtime::{Error, idempotent};

fn now() -> u64 {
    7
}

#[idempotent(prefix = "order", keys = [now()], ttl = 1h)]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
