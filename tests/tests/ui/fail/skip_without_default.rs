use idempotent_runtime::{Error, idempotent};

struct Receipt(u64);

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_duplicate = skip)]
async fn handler(id: u64) -> Result<Receipt, Error> {
    Ok(Receipt(id))
}

fn main() {}
