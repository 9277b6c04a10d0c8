use idempotent_runtime::KeyPart;

#[derive(KeyPart)]
#[key(crate = my::runtime)]
struct OrderId(u64);

fn main() {}
