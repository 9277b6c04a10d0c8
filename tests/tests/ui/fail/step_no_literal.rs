use idempotent_runtime::{Error, idempotent};

const STEP: &str = "init_token";

#[idempotent(prefix = "order", keys = [id], step = STEP, ttl = 1h)]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
