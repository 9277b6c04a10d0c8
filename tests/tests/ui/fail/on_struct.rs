use idempotent_runtime::idempotent;

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
struct Order {
    id: u64,
}

fn main() {}
