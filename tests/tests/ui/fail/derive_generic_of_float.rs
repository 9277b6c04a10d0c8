use idempotent_runtime::{Error, KeyPart, idempotent};

#[derive(KeyPart)]
struct Id<T>(T);

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn handler(id: Id<f64>) -> Result<(), Error> {
    Ok(())
}

fn main() {}
