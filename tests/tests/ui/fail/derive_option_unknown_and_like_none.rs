use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
struct Order {
    #[key(hash)]
    id: u64,
}

fn main() {}
