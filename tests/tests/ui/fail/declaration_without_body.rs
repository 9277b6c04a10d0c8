use idempotent_runtime::{Error, idempotent};

trait Kitchen {
    #[idempotent(prefix = "order", keys = [id], ttl = 1h)]
    async fn prepare(&self, id: u64) -> Result<(), Error>;
}

fn main() {}
