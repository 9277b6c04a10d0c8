use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
struct Order {
    id: u64,
    price: f64,
}

fn main() {}
