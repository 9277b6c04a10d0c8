use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
union Id {
    number: u64,
    text: [u8; 8],
}

fn main() {}
