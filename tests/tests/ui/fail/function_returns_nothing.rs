use idempotent_runtime::idempotent;

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn handler(id: u64) {
    let _ = id;
}

fn main() {}
