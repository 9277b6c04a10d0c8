use idempotent_runtime::{Error, idempotent};

#[derive(Debug)]
struct OrderError;

impl From<Error> for OrderError {
    fn from(_: Error) -> Self {
        Self
    }
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn handler(id: u64) -> Result<u64, OrderError> {
    let parsed: u64 = id.to_string().parse()?;
    Ok(parsed)
}

fn main() {}
