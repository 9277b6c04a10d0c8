use idempotent_runtime::{Error, idempotent};

fn has(_: &u64) -> Result<bool, Error> {
    Ok(true)
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, verify = has(&id))]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
