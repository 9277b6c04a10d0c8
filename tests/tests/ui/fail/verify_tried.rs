use idempotent_runtime::{Error, idempotent};

async fn has(_: &u64) -> Result<bool, Error> {
    Ok(true)
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, verify = has(&id).await?)]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
