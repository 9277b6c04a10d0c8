//! The conformance suite, with a front that is sound, and with one that is harmed all the time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use idempotent_runtime::conformance::{self, CASES, Steps};

use crate::front::{Harm, tiers};

async fn sound() -> impl conformance::Harness {
    tiers(Harm::Nothing, 1)
}

async fn step_by_step() -> impl conformance::Harness {
    Steps(tiers(Harm::Nothing, 1))
}

mod whole_keys {
    idempotent_runtime::conformance_suite!(super::sound);
}

mod steps {
    idempotent_runtime::conformance_suite!(super::step_by_step);
}

fn every_case_holds(harm: Harm, rhythms: &[usize]) {
    let holds = |name, every| {
        let run = || conformance::run(name, async || tiers(harm, every));
        catch_unwind(AssertUnwindSafe(run)).is_ok()
    };
    let tries = rhythms.iter().flat_map(|&every| CASES.iter().map(move |case| (case.name, every)));
    let failed: Vec<_> = tries.filter(|(name, every)| !holds(name, *every)).collect();
    assert!(failed.is_empty(), "{harm:?}: {failed:?}");
}

/// From one that is of no use at all to one that is harmed a few times in a case.
const RHYTHMS: [usize; 6] = [1, 2, 3, 4, 5, 7];

#[test]
fn with_a_front_that_is_emptied() {
    every_case_holds(Harm::Emptied, &RHYTHMS);
}

#[test]
fn with_a_front_that_fails() {
    every_case_holds(Harm::Fails, &RHYTHMS);
}

#[test]
fn with_a_front_that_loses_answers() {
    every_case_holds(Harm::LosesAnswers, &RHYTHMS);
}
