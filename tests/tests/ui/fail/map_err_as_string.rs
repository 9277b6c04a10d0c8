use idempotent_runtime::{Error, idempotent};

fn convert(error: Error) -> Error {
    error
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, map_err = "convert")]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
