//! The suite, and a crowd beside it, while the front is killed, emptied and failed over: every case holds, and no key
//! runs twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use servers::{Redis, RedisBinary, Sentinels};

use crate::conformance::{Under, broken};
use crate::crowd;
use crate::support::{Front, Truth};

impl Front for Sentinels {
    fn url(&self) -> String {
        Sentinels::url(self)
    }

    fn tell(&self, command: &[&str]) {
        drop(self.primary().and_then(|primary| primary.cli(command)));
    }
}

/// Whether a watch can be made at the moment at which its server goes is not what these cases ask: a waiter that has
/// none polls.
fn is_about_waking(case: &str) -> bool {
    case.contains("wakes")
}

/// A server that goes wakes everybody, which a watch may.
const WOKEN_BY_A_LOSS: &str = "nothing_wakes_the_watch_of_another_key";

/// Runs the suite and a crowd while `harm` is done again and again.
fn all_goes_well(front: &dyn Front, truth: Truth, harm: impl Fn() + Sync) {
    let truth = Arc::new(truth);
    let (over, stop) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
    let (broken, report, times) = scope(|scope| {
        let harming = scope.spawn(|| {
            let mut times = 0;
            while !over.load(Ordering::Relaxed) {
                harm();
                times += 1;
            }
            times
        });
        let crowd = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.expect("a runtime starts").block_on(crowd::call(&front.url(), &truth, Arc::clone(&stop)))
        });
        let broken = broken(front, &|| Arc::clone(&truth), Under::Keys, is_about_waking);
        stop.store(true, Ordering::Relaxed);
        let report = crowd.join().expect("no caller panics");
        over.store(true, Ordering::Relaxed);
        (broken, report, harming.join().expect("the harm is done"))
    });
    let crowd::Report { keys, answered, refused, ran_twice } = report;
    println!("harmed {times} times; {keys} keys ran, {answered} calls answered, {refused} refused");
    assert!(ran_twice.is_empty(), "keys ran twice: {ran_twice:?}");
    let broken: Vec<_> = broken.into_iter().filter(|case| *case != WOKEN_BY_A_LOSS).collect();
    assert!(broken.is_empty(), "cases that did not hold: {broken:?}");
    assert!(keys > 20 && answered > 4 * refused, "too few calls came through to show anything");
    assert!(times > 2, "the front was harmed {times} times");
}

fn redis() -> Option<Redis> {
    servers::needed(Redis::start(RedisBinary::System))
}

#[test]
fn while_the_front_is_emptied() {
    let Some((front, truth)) = redis().zip(Truth::postgres()) else { return };
    all_goes_well(&front, truth, || {
        front.tell(&["FLUSHALL"]);
        sleep(Duration::from_millis(30));
    });
}

#[test]
fn while_the_front_is_killed() {
    let Some((front, truth)) = redis().zip(Truth::postgres()) else { return };
    all_goes_well(&front, truth, || {
        sleep(Duration::from_millis(600));
        front.kill().expect("it dies");
        sleep(Duration::from_millis(200));
        front.restart_empty().expect("it starts again");
    });
}

#[test]
fn while_the_front_is_failed_over() {
    let Some((front, truth)) = servers::needed(Sentinels::start()).zip(Truth::postgres()) else { return };
    all_goes_well(&front, truth, || {
        sleep(Duration::from_millis(500));
        front.fail_over().expect("another takes over");
        front.wait_until_followed().expect("the others follow it");
    });
}
