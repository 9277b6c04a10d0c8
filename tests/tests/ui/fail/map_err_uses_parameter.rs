use idempotent_runtime::idempotent;

struct OrderError(u64);

#[idempotent(prefix = "order", keys = [id], ttl = 1h, map_err = |_| OrderError(id))]
async fn handler(id: u64) -> Result<(), OrderError> {
    Ok(())
}

fn main() {}
