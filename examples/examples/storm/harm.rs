//! When a process is to be killed or stopped next, and which.

use std::time::{Duration, Instant};

use rand::seq::{IndexedRandom as _, IteratorRandom as _};
use rand::{RngExt as _, rng};

/// What is done to the processes.
#[derive(Debug)]
pub(crate) struct Harm {
    pub(crate) kill: Option<Rhythm>,
    pub(crate) stop: Option<Rhythm>,
    pub(crate) kills: usize,
    pub(crate) stops: usize,
}

/// Every so often: the first time after a quarter of that, the others after as much, half more or less.
#[derive(Debug)]
pub(crate) struct Rhythm {
    every: Duration,
    next: Option<Instant>,
}

impl Harm {
    pub(crate) fn new(kill_every: Option<Duration>, stop_every: Option<Duration>) -> Self {
        let rhythm = |every| Rhythm { every, next: None };
        Self { kill: kill_every.map(rhythm), stop: stop_every.map(rhythm), kills: 0, stops: 0 }
    }
}

impl Rhythm {
    pub(crate) fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let due = now >= *self.next.get_or_insert(now + self.every / 4);
        if due {
            self.next = Some(now + self.every.mul_f64(rng().random_range(0.5..1.5)));
        }
        due
    }
}

/// One of so many: one in the middle of a run, if there is one.
pub(crate) fn choose(candidates: &[usize], is_running: impl Fn(usize) -> bool) -> Option<usize> {
    let running = candidates.iter().copied().filter(|&candidate| is_running(candidate));
    running.choose(&mut rng()).or_else(|| candidates.choose(&mut rng()).copied())
}
