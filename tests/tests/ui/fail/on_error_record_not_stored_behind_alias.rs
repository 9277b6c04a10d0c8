use idempotent_runtime::idempotent;

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_error = record)]
async fn handler(id: u64) -> anyhow::Result<u64> {
    Ok(id)
}

fn main() {}
