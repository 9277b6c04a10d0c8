use idempotent_runtime::{Error, idempotent};

async fn find(_: &u64) -> Result<Option<u64>, String> {
    Ok(None)
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, existing = find(&id))]
async fn handler(id: u64) -> Result<u64, Error> {
    Ok(id)
}

fn main() {}
