//! The SQL stores answer as the table does, on a real PostgreSQL and on a SQLite file: leases are short, and really lapse.
//!
//! Not every move can be looked at where time is real; what follows each of them by chance is the same in every run.

use std::time::Duration;

use idempotent_runtime::Store;
use idempotent_runtime::store::{PostgresStore, SqliteStore};
use model::drive::{Plan, drive};
use model::reach::Cast;
use servers::Postgres;

fn plan(cast: Cast, every: usize, walks: usize, at_once: usize) -> Plan {
    let lease = Duration::from_millis(500);
    Plan { cast, lease, tail: 4, every, walks, steps: 20, at_once, seed: 1, prefix: "model:drive" }
}

async fn agrees(store: &dyn Store, plan: &Plan) {
    let driven = drive(store, plan).await.unwrap_or_else(|difference| panic!("{difference}"));
    println!("{driven:?}");
    assert!(driven.too_slow * 10 <= driven.moves, "the machine is too slow for much of it: {driven:?}");
}

#[tokio::test]
async fn three_calls_on_postgres() {
    let Some(server) = servers::needed(Postgres::start()) else { return };
    let store = PostgresStore::builder().timeout(Duration::from_secs(10)).connect(&server.url()).await;
    let store = store.expect("the server was started for this");
    agrees(&store, &plan(Cast::new(3, 2, [0; 4]), 61, 100, 50)).await;
}

#[tokio::test]
async fn three_calls_on_sqlite() {
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let url = format!("sqlite:{}", folder.path().join("idempotency.db").display());
    let store = SqliteStore::builder().timeout(Duration::from_secs(10)).connect(&url).await;
    agrees(&store.expect("the file can be made"), &plan(Cast::new(3, 2, [0; 4]), 211, 50, 20)).await;
}
