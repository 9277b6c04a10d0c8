use idempotent_runtime::{Error, idempotent};

#[tokio::main(flavor = "current_thread")]
#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn handler(id: u64) -> Result<u64, Error> {
    Ok(id)
}

fn main() {}
