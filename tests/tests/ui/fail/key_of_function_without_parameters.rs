use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn handler() -> Result<(), Error> {
    Ok(())
}

fn main() {}
