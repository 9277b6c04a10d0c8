use idempotent_runtime::idempotent;

#[derive(serde::Serialize, serde::Deserialize)]
struct Receipt(u64);

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn handler(id: u64) -> Receipt {
    Receipt(id)
}

fn main() {}
