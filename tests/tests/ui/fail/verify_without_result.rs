use idempotent_runtime::{Error, idempotent};

async fn has(_: &u64) -> bool {
    true
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, verify = has(&id))]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
