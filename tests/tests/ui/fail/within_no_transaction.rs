use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = 1h, within = pool)]
async fn handler(id: u64, pool: &mut sqlx::PgPool) -> Result<(), Error> {
    Ok(())
}

fn main() {}
