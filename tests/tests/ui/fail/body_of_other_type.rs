use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn handler(id: u64) -> Result<u64, Error> {
    Ok(id.to_string())
}

fn main() {}
