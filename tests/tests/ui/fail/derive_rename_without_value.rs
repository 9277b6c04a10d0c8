use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
enum Channel {
    #[key(rename)]
    Web,
}

fn main() {}
