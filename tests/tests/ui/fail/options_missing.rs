use idempotent_runtime::{Error, idempotent};

#[idempotent]
async fn handler(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
