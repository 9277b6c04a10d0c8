use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
struct Order(u64, Option<Vec<String>>);

fn main() {}
