use idempotent_runtime::{Error, idempotent};

struct OrderError;

fn convert(error: Error) -> String {
    error.to_string()
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, map_err = convert)]
async fn handler(id: u64) -> Result<(), OrderError> {
    Ok(())
}

fn main() {}
