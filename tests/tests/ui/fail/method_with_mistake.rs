use idempotent_runtime::{Error, idempotent};

struct Kitchen {
    tenant: u64,
}

impl Kitchen {
    #[idempotent(prefix = "order", keys = [self.tenant, di], ttl = 1h)]
    async fn prepare(&self, id: u64) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {}
