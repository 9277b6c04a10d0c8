use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
enum Channel {
    Web,
    Shop(u64),
    Phone { number: String },
}

fn main() {}
