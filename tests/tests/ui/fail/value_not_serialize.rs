use idempotent_runtime::{Error, idempotent};

#[derive(serde::Deserialize)]
struct Receipt(u64);

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn handler(id: u64) -> Result<Receipt, Error> {
    Ok(Receipt(id))
}

fn main() {}
