use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order:{id}", keys = [id], ttl = 3600)]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
