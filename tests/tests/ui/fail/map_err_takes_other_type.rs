use idempotent_runtime::idempotent;

struct OrderError;

fn convert(_: String) -> OrderError {
    OrderError
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, map_err = convert)]
async fn handler(id: u64) -> Result<(), OrderError> {
    Ok(())
}

fn main() {}
