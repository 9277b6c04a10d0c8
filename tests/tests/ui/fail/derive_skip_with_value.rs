use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
struct Order {
    id: u64,
    #[key(skip = true)]
    label: String,
}

fn main() {}
