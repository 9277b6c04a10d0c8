use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [name], ttl = 1h)]
async fn handler(name: &str) -> Result<Option<&str>, Error> {
    Ok(Some(name))
}

fn main() {}
