//! The memory store answers as the table does.

use std::time::Duration;

use idempotent_runtime::MemoryStore;
use model::drive::{Difference, Plan, drive};
use model::reach::Cast;
use model::rules::{Rule, Without};

fn plan(cast: Cast) -> Plan {
    Plan {
        cast,
        lease: Duration::from_secs(10),
        tail: 6,
        every: 1,
        walks: 20_000,
        steps: 40,
        at_once: 1,
        seed: 1,
        prefix: "model:drive",
    }
}

#[tokio::test(start_paused = true)]
async fn three_calls() {
    let driven = drive(&MemoryStore::new(), &plan(Cast::new(3, 3, [0; 4]))).await;
    let driven = driven.unwrap_or_else(|difference| panic!("{difference}"));
    println!("{driven:?}");
}

#[tokio::test(start_paused = true)]
async fn two_calls_that_differ_in_their_arguments() {
    let driven = drive(&MemoryStore::new(), &plan(Cast::new(2, 3, [0, 1, 0, 0]))).await;
    let driven = driven.unwrap_or_else(|difference| panic!("{difference}"));
    println!("{driven:?}");
}

/// A store that lacks a rule is found out: as seen from a table that lacks it, the memory store is one.
#[tokio::test(start_paused = true)]
async fn a_store_without_a_rule_differs() {
    let of_stores = Rule::ALL.into_iter().take_while(|rule| *rule != Rule::BeginComesFirst);
    for rule in of_stores {
        let mut cast = Cast::new(3, 3, [0; 4]);
        cast.table.without = Without::rules(&[rule]);
        let difference = drive(&MemoryStore::new(), &plan(cast)).await;
        assert!(matches!(difference, Err(Difference::Answer { .. })), "{rule:?} is not seen");
    }
}
