use idempotent_runtime::{Error, idempotent};

struct Receipt(u64);

type OrderResult = Result<Receipt, Error>;

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn handler(id: u64) -> OrderResult {
    Ok(Receipt(id))
}

fn main() {}
