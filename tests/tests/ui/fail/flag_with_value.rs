use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = 1h, fenced = id)]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
