use idempotent_runtime::{Error, idempotent};

const PREFIX: &str = "order";

#[idempotent(prefix = PREFIX, keys = [id], ttl = 1h)]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
