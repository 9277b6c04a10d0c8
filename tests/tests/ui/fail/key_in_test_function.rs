use idempotent_runtime::idempotent;

const ID: u64 = 7;

#[idempotent(prefix = "order", keys = [ID], ttl = 1h)]
#[tokio::test]
async fn handler() -> Result<(), idempotent_runtime::Error> {
    Ok(())
}

fn main() {}
