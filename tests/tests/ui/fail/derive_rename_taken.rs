use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
enum Channel {
    Web,
    #[key(rename = "Web")]
    Shop,
}

fn main() {}
