//! Random sequences of operations and clock steps, on each database and on the plain reference: they agree on every
//! answer, and on the record after every step. As in `idempotent-runtime/tests/reference`, where more of them run on
//! memory.

use std::time::Duration;

use idempotent_runtime::conformance::Harness;

use crate::sequence::{Chance, Clock, all_agree};
use crate::support::{On, postgres};

/// Long against what a statement takes; its quarters are what the sequences count in.
const TICK: Duration = Duration::from_millis(400);

/// Some that are the same in every run, and some that are new.
async fn agree(harness: &dyn Harness) {
    for chance in [Chance::Same, Chance::New] {
        // Nothing lapses of itself, but what is given up has: long sequences, at no cost in time.
        all_agree(harness, Clock::Still, chance, 30, 60).await;
        // Leases really lapse, and records expire.
        all_agree(harness, Clock::Rough, chance, 30, 14).await;
    }
}

#[tokio::test]
async fn postgres_agrees_with_the_reference() {
    let Some(server) = postgres() else { return };
    agree(&On::postgres(&server, TICK).await).await;
}

#[tokio::test]
async fn sqlite_agrees_with_the_reference() {
    agree(&On::sqlite(TICK).await).await;
}
