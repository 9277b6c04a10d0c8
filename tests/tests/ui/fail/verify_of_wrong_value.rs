use idempotent_runtime::{Error, idempotent};

async fn find(_: &u64) -> Result<Option<u64>, Error> {
    Ok(None)
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, verify = find(&id))]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
