use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
struct Order {
    #[key(skip)]
    id: u64,
}

fn main() {}
