use idempotent_runtime::idempotent;

struct OrderError;

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn handler(id: u64) -> Result<(), OrderError> {
    Ok(())
}

fn main() {}
