use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
struct Everything;

fn main() {}
