use idempotent_runtime::{Error, OnError, idempotent};

fn judge(_: Error) -> OnError {
    OnError::Release
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_error = judge)]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
