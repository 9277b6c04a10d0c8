use idempotent_runtime::{Error, idempotent};

struct OrderError;

fn convert(_: Error) -> Result<(), OrderError> {
    Err(OrderError)
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, map_err = convert)]
async fn handler(id: u64) -> Result<(), OrderError> {
    Ok(())
}

fn main() {}
