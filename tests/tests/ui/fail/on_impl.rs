use idempotent_runtime::{Error, idempotent};

struct Kitchen;

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
impl Kitchen {
    async fn prepare(&self, id: u64) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {}
