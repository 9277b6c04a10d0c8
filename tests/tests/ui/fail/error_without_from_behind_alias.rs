use idempotent_runtime::idempotent;

struct OrderError;

type OrderResult<T> = Result<T, OrderError>;

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn handler(id: u64) -> OrderResult<()> {
    Ok(())
}

fn main() {}
