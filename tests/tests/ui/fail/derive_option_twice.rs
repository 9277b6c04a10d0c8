use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
struct Order {
    id: u64,
    #[key(skip)]
    #[key(skip)]
    label: String,
}

fn main() {}
