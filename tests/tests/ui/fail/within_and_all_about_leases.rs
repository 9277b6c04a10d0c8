use idempotent_runtime::{Error, idempotent};
use sqlx::{Postgres, Transaction};

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_crash = hold, on_outage = reject, on_lost = finish, max_attempts = 3, within = tx)]
async fn handler(id: u64, tx: &mut Transaction<'_, Postgres>) -> Result<(), Error> {
    Ok(())
}

fn main() {}
