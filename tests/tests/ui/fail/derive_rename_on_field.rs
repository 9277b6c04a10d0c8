use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
struct Order {
    #[key(rename = "number")]
    id: u64,
}

fn main() {}
