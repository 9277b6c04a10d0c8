use idempotent_runtime::{Error, idempotent};

#[derive(serde::Serialize)]
struct Receipt(u64);

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn handler(id: u64) -> Result<Vec<Receipt>, Error> {
    Ok(vec![Receipt(id)])
}

fn main() {}
