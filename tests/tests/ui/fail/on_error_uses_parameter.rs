use idempotent_runtime::{Error, OnError, idempotent};

fn judge(_: u64) -> OnError {
    OnError::Release
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_error = |_| judge(id))]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
