use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [name], ttl = 1h)]
async fn handler(name: &str) -> Result<&str, Error> {
    Ok(name)
}

fn main() {}
