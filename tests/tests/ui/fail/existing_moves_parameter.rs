use idempotent_runtime::{Error, idempotent};

async fn find(name: String) -> Result<Option<String>, Error> {
    Ok(Some(name))
}

#[idempotent(prefix = "order", keys = [name], ttl = 1h, existing = find(name))]
async fn handler(name: String) -> Result<String, Error> {
    Ok(name)
}

fn main() {}
