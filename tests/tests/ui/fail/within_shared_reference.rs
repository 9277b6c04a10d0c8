use idempotent_runtime::{Error, idempotent};
use sqlx::{Postgres, Transaction};

#[idempotent(prefix = "order", keys = [id], ttl = 1h, within = tx)]
async fn handler(id: u64, tx: &Transaction<'_, Postgres>) -> Result<(), Error> {
    Ok(())
}

fn main() {}
