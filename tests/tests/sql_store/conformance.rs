//! The conformance suite on both databases.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use idempotent_runtime::conformance::{CASES, Harness, run};

use idempotent_runtime::store::PostgresStore;
use servers::PgBouncer;

use crate::support::{On, postgres};

/// Cases that wait at the same time: a database really waits, so one after the other they would take minutes.
const LANES: usize = 12;

fn every_case_holds<H: Harness, F: Future<Output = H>>(harness: impl Fn() -> F + Sync) {
    let harness = &harness;
    let lane = |lane: usize| {
        let cases = CASES.iter().skip(lane).step_by(LANES);
        cases.filter(|case| catch_unwind(AssertUnwindSafe(|| run(case.name, harness))).is_err()).collect::<Vec<_>>()
    };
    let failed: Vec<_> = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|at| scope.spawn(move || lane(at))).collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("panics are caught")).collect()
    });
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn on_postgres() {
    let Some(server) = postgres() else { return };
    every_case_holds(|| On::postgres(&server, Duration::from_millis(250)));
}

#[test]
fn on_sqlite_files() {
    every_case_holds(|| On::sqlite(Duration::from_millis(250)));
}

/// Debian's knows no prepared statements, and here it has fewer connections than there are clients. Waiters are woken over
/// the server's own URL.
#[test]
fn point_18_on_postgres_behind_pgbouncer_in_transaction_mode() {
    let Some(server) = postgres() else { return };
    let Some(pooler) = servers::needed(PgBouncer::start(&server, 6)) else { return };
    every_case_holds(|| async {
        let store = PostgresStore::builder().behind_pooler().timeout(Duration::from_secs(10));
        let store = store.wake_over(&server.url());
        On::these(store.connect(&pooler.url()).await, &server, Duration::from_millis(250))
    });
}
