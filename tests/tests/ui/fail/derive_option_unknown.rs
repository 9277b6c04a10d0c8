use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
enum Channel {
    #[key(renamed = "www")]
    Web,
}

fn main() {}
