use idempotent_runtime::KeyPart;

struct OrderId(u64);

#[derive(KeyPart)]
struct Order {
    id: OrderId,
}

fn main() {}
