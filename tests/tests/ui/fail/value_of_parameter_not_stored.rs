use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn handler<T: Default>(id: u64) -> Result<T, Error> {
    Ok(T::default())
}

fn main() {}
