use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id, 7], ttl = 1h)]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
