use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
enum Channel {}

fn main() {}
