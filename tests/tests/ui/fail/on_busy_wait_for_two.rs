use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_busy = wait(5s, 10s))]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
