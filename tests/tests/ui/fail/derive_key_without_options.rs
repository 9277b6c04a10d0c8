use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
struct Order {
    #[key]
    id: u64,
}

fn main() {}
