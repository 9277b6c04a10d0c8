use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], step = "init token", ttl = 1h)]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
