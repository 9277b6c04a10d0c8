use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
fn handler(id: u64) -> impl Future<Output = Result<(), Error>> {
    std::future::ready(Ok(()))
}

fn main() {}
