use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
enum Channel {
    Web,
    #[key(skip)]
    Shop,
}

fn main() {}
