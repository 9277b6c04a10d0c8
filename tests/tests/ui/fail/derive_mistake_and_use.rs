use idempotent_runtime::{Error, KeyPart, idempotent};

#[derive(KeyPart)]
enum Channel {
    Web,
    Shop(u64),
}

#[idempotent(prefix = "order", keys = [channel], ttl = 1h)]
async fn handler(channel: Channel) -> Result<(), Error> {
    Ok(())
}

fn main() {}
