use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
fn handler(id: u64) -> impl Future<Output = Result<(), Error>> {
    let _ = id;
    async move { Ok(()) }
}

fn main() {}
