//! The short form of the exhaustive check: two workers with everything that can go wrong, three with less.
//!
//! The long form: `cargo xtask model`.

use std::num::NonZeroUsize;

use model::liveness::settles;
use model::protocol::Protocol;
use model::rules::Rule;
use model::setting::{Policy, Setting};
use model::suite::{self, Named};

/// Settings that take more than a few seconds; the long form has them.
const LONG: [&str; 2] = ["two-attempts-ancient", "two-attempts-emptied"];

fn keep_their_promises(settings: Vec<Named>) {
    for named in settings {
        let report = Protocol::new(named.setting).check(NonZeroUsize::MIN);
        println!("{}: {}", named.name, report.explain());
        assert_eq!(report.broken(), None, "{}: {}", named.name, report.explain());
    }
}

#[test]
fn two_workers_of_each_policy() {
    keep_their_promises(suite::policies(2));
}

#[test]
fn two_workers_of_different_policies() {
    keep_their_promises(suite::mixtures());
}

#[test]
fn two_workers_in_trouble() {
    let short = |named: &Named| !LONG.contains(&named.name);
    keep_their_promises(suite::troubles(2).into_iter().filter(short).collect());
}

#[test]
fn three_workers_with_fewer_faults() {
    let chosen = |named: &Named| ["rerun", "hold", "two-attempts"].contains(&named.name);
    keep_their_promises(suite::policies(3).into_iter().filter(chosen).map(suite::narrow).collect());
}

#[test]
fn a_key_is_settled_in_the_end() {
    for Named { name, setting } in suite::policies(2) {
        let settling = settles(&setting);
        println!("{name}: {} states", settling.states);
        assert!(settling.stuck.is_none(), "{name}: {:#?}", settling.stuck);
    }
}

/// A keeper that goes on renewing what was put back keeps an orphan alive for ever.
#[test]
fn renewal_ends() {
    let settling = settles(&Setting::of(2, Policy::RERUN).without(&[Rule::RenewalEnds]));
    assert!(settling.stuck.is_some());
}
