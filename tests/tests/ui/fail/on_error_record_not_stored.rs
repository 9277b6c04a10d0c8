use idempotent_runtime::{Error, idempotent};

struct OrderError;

impl From<Error> for OrderError {
    fn from(_: Error) -> Self {
        Self
    }
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_error = record)]
async fn handler(id: u64) -> Result<u64, OrderError> {
    Ok(id)
}

fn main() {}
