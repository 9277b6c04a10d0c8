use idempotent_runtime::{Error, idempotent};
use sqlx::{Postgres, Transaction};

#[idempotent(prefix = "order", keys = [id], ttl = 1h, within = tx, lease = 10s)]
async fn handler(id: u64, tx: &mut Transaction<'_, Postgres>) -> Result<(), Error> {
    Ok(())
}

fn main() {}
