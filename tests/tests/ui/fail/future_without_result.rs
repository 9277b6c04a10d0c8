use idempotent_runtime::idempotent;

#[derive(serde::Serialize, serde::Deserialize)]
struct Receipt(u64);

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
fn handler(id: u64) -> impl Future<Output = Receipt> {
    async move { Receipt(id) }
}

fn main() {}
