//! The conformance suite on both.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use idempotent_runtime::conformance::{CASES, Steps, run};
use servers::{Redis, RedisBinary};

use crate::support::{Front, Tiers, Truth};

/// Cases that wait at the same time: servers really wait, so one after the other they would take minutes.
const LANES: usize = 8;

const TICK: Duration = Duration::from_millis(300);

impl Front for Redis {
    fn url(&self) -> String {
        Redis::url(self)
    }

    fn tell(&self, command: &[&str]) {
        drop(self.cli(command));
    }
}

/// Whether the cases work under whole keys, or under steps of entities.
#[derive(Clone, Copy)]
pub(crate) enum Under {
    Keys,
    Steps,
}

/// Runs the whole suite, and says which cases did not hold. `again` may ask for a case a second time.
pub(crate) fn broken(
    front: &dyn Front,
    truth: &(dyn Fn() -> Arc<Truth> + Sync),
    under: Under,
    again: fn(&str) -> bool,
) -> Vec<&'static str> {
    let harness = async || Tiers::new(front, truth(), TICK).await;
    let try_once = |name| {
        catch_unwind(AssertUnwindSafe(|| match under {
            Under::Keys => run(name, harness),
            Under::Steps => run(name, async || Steps(harness().await)),
        }))
        .is_ok()
    };
    let holds = |name| try_once(name) || (again(name) && (try_once(name) || try_once(name)));
    let lane = |lane: usize| {
        let cases = CASES.iter().skip(lane).step_by(LANES);
        cases.map(|case| case.name).filter(|name| !holds(name)).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|at| scope.spawn(move || lane(at))).collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("panics are caught")).collect()
    })
}

fn every_case_holds(truth: &(dyn Fn() -> Arc<Truth> + Sync), under: Under) {
    let Some(front) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let broken = broken(&front, truth, under, |_| false);
    assert!(broken.is_empty(), "{broken:?}");
}

fn on_postgres(under: Under) {
    let Some(truth) = Truth::postgres().map(Arc::new) else { return };
    every_case_holds(&|| Arc::clone(&truth), under);
}

#[test]
fn redis_in_front_of_postgres() {
    on_postgres(Under::Keys);
}

#[test]
fn redis_in_front_of_postgres_step_by_step() {
    on_postgres(Under::Steps);
}

#[test]
fn redis_in_front_of_sqlite() {
    every_case_holds(&|| Arc::new(Truth::sqlite()), Under::Keys);
}
