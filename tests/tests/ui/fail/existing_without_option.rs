use idempotent_runtime::{Error, idempotent};

async fn find(id: &u64) -> Result<u64, Error> {
    Ok(*id)
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, existing = find(&id))]
async fn handler(id: u64) -> Result<u64, Error> {
    Ok(id)
}

fn main() {}
