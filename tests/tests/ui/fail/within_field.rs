use idempotent_runtime::{Error, idempotent};

struct Shop {
    tx: u32,
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, within = shop.tx)]
async fn handler(id: u64, shop: &mut Shop) -> Result<(), Error> {
    Ok(())
}

fn main() {}
