use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = for_ever)]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
