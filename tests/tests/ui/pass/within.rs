//! Transactions that a call can take part in, however they come.

use idempotent_runtime::{Error, InTransaction, idempotent};
use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, Postgres, Sqlite, SqliteConnection, Transaction};

#[idempotent(prefix = "a", keys = [id], ttl = 1h, within = tx)]
async fn on_postgres(tx: &mut Transaction<'_, Postgres>, id: u64) -> Result<u64, Error> {
    let _: &mut Transaction<'_, Postgres> = tx;
    Ok(id)
}

#[idempotent(prefix = "b", keys = [id], ttl = forever, on_busy = wait(2s), timeout = 5s, fenced, within = tx)]
async fn on_sqlite(id: u64, tx: &mut Transaction<'_, Sqlite>) -> Result<u64, Error> {
    let _: &mut SqliteConnection = &mut **tx;
    Ok(id)
}

#[idempotent(prefix = "c", keys = [id], ttl = 1h, within = connection)]
async fn on_a_connection(id: u64, connection: &mut PgConnection) -> Result<u64, Error> {
    let _: &mut PgConnection = connection;
    Ok(id)
}

#[idempotent(prefix = "d", keys = [id], ttl = 1h, within = connection)]
async fn on_a_connection_of_a_pool(id: u64, connection: &mut PoolConnection<Postgres>) -> Result<u64, Error> {
    let _: &mut PgConnection = connection.as_mut();
    Ok(id)
}

#[idempotent(prefix = "e", keys = [id], ttl = 1h, within = tx, existing = find(tx, id), verify = is_there(tx))]
async fn on_any<T: InTransaction>(tx: &mut T, id: u64) -> Result<u64, Error> {
    drop(tx.connection());
    Ok(id)
}

async fn find<T: InTransaction>(_: &mut T, id: u64) -> Result<Option<u64>, Error> {
    Ok(Some(id))
}

async fn is_there<T: InTransaction>(_: &mut T) -> Result<bool, Error> {
    Ok(true)
}

struct Shop;

impl Shop {
    #[idempotent(prefix = "f", keys = [id], ttl = 1h, within = tx)]
    async fn in_a_method(&mut self, tx: &mut Transaction<'_, Postgres>, id: u64) -> Result<u64, Error> {
        tx.connection();
        Ok(id)
    }

    #[idempotent(prefix = "g", keys = [id], ttl = 1h, within = tx)]
    fn as_a_future(tx: &mut Transaction<'_, Postgres>, id: u64) -> impl Future<Output = Result<u64, Error>> + Send {
        async move {
            tx.connection();
            Ok(id)
        }
    }
}

fn is_send(_: impl Send) {}

fn all_can_go_to_another_thread(tx: &mut Transaction<'_, Postgres>) {
    is_send(on_postgres(tx, 1));
    is_send(on_any(tx, 1));
    is_send(Shop.in_a_method(tx, 1));
    is_send(Shop::as_a_future(tx, 1));
}

fn main() {
    let _ = (on_postgres, on_sqlite, on_a_connection, on_a_connection_of_a_pool, all_can_go_to_another_thread);
}
