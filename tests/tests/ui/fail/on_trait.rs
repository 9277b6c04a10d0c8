use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
trait Kitchen {
    async fn prepare(&self, id: u64) -> Result<(), Error>;
}

fn main() {}
