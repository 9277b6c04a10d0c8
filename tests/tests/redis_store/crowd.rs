//! Callers that go on calling while servers come and go, and what they have seen.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use idempotent_runtime::{Error, ErrorKind, Idempotency};
use tokio::task::JoinHandle;

const CALLERS: u64 = 30;

/// No call may take longer: its claim waits two seconds for the store, its result five, and the machine is busy.
const LONGEST: Duration = Duration::from_secs(8);

/// How long a crowd waits for a call that succeeds.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Crowd {
    seen: Arc<Seen>,
    callers: Vec<JoinHandle<()>>,
}

#[derive(Default)]
pub(crate) struct Seen {
    /// The runs of each key, by their numbers.
    runs: Mutex<HashMap<u64, Vec<u64>>>,
    /// The values that callers were given for each key.
    values: Mutex<HashMap<u64, BTreeSet<u64>>>,
    /// Calls that were answered: their keys, and when they began.
    answered: Mutex<Vec<(u64, Instant)>>,
    refused: AtomicU64,
    longest: Mutex<Duration>,
    next_run: AtomicU64,
    stop: AtomicBool,
}

impl Crowd {
    /// Begins to call, each caller under ever new keys, and each key three times.
    pub(crate) async fn call(url: &str) -> Self {
        let idempotency = Idempotency::connect(url).await.expect("the servers were started for this");
        let seen = Arc::new(Seen::default());
        let callers = (0..CALLERS).map(|first| tokio::spawn(caller(idempotency.clone(), Arc::clone(&seen), first)));
        Self { callers: callers.collect(), seen }
    }

    /// The text of a key in the store.
    pub(crate) fn text(key: u64) -> String {
        format!("order:{key}")
    }

    /// Waits for a call that begins from now on and is answered; how long it took.
    pub(crate) async fn recovery(&self) -> Duration {
        self.recovery_of(|_| true).await
    }

    /// The same, for keys of which `counts` holds.
    pub(crate) async fn recovery_of(&self, counts: impl Fn(&str) -> bool) -> Duration {
        let began = Instant::now();
        let mut looked = self.seen.answered.lock().unwrap().len();
        loop {
            let answered = {
                let answered = self.seen.answered.lock().unwrap();
                let new = answered[looked..].to_vec();
                looked = answered.len();
                new
            };
            if answered.into_iter().any(|(key, at)| at >= began && counts(&Self::text(key))) {
                return began.elapsed();
            }
            assert!(began.elapsed() < PATIENCE, "no call succeeds again: {}", self.seen);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// How many calls were refused so far.
    pub(crate) fn refused(&self) -> u64 {
        self.seen.refused.load(Ordering::Relaxed)
    }

    /// Ends all calls.
    pub(crate) async fn end(self) -> Arc<Seen> {
        self.seen.stop.store(true, Ordering::Relaxed);
        for caller in self.callers {
            caller.await.expect("no caller panics");
        }
        let longest = *self.seen.longest.lock().unwrap();
        assert!(longest < LONGEST, "a call took {longest:?}");
        self.seen
    }
}

async fn caller(idempotency: Idempotency, seen: Arc<Seen>, first: u64) {
    let mut key = first;
    while !seen.stop.load(Ordering::Relaxed) {
        for _ in 0..3 {
            let started = Instant::now();
            let call = idempotency.call("order").key(key).ttl(Duration::from_mins(10)).lease(Duration::from_secs(20));
            let body = async {
                let run = seen.next_run.fetch_add(1, Ordering::Relaxed);
                seen.runs.lock().unwrap().entry(key).or_default().push(run);
                Ok::<_, Error>(run)
            };
            match call.run(body).await {
                Ok(value) => {
                    seen.values.lock().unwrap().entry(key).or_default().insert(value);
                    seen.answered.lock().unwrap().push((key, started));
                }
                Err(error) => {
                    let expected = matches!(error.kind(), ErrorKind::StoreUnavailable | ErrorKind::Busy);
                    assert!(expected, "{error}: {:?}", std::error::Error::source(&error));
                    seen.refused.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            let mut longest = seen.longest.lock().unwrap();
            *longest = (*longest).max(started.elapsed());
        }
        key += CALLERS;
    }
}

impl Seen {
    /// Every run has an effect. A second one under a key is the store's doing where its record counts one run only: the
    /// claim of the other had been acknowledged, and was lost. A record that counts both would be ours. How many there
    /// were.
    pub(crate) fn no_run_was_repeated_but_for_lost_writes(&self, record: impl Fn(&str) -> Option<String>) -> usize {
        let (runs, values) = (self.runs.lock().unwrap(), self.values.lock().unwrap());
        let mut lost = 0;
        for (key, runs) in &*runs {
            let values = values.get(key);
            if let [only] = runs[..] {
                assert!(values.is_none_or(|values| values.iter().eq([&only])), "{key}: {values:?} of run {only}");
                continue;
            }
            let text = record(&Crowd::text(*key)).unwrap_or_default();
            // The number of a second attempt stands between the token and the owner.
            let attempts = text.split('@').next().unwrap_or_default();
            assert!(!attempts.contains('#'), "{key} ran {} times, and the store knows of it: {text}", runs.len());
            lost += runs.len() - 1;
        }
        lost
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (answered, refused) = (self.answered.lock().unwrap().len(), self.refused.load(Ordering::Relaxed));
        let (runs, longest) = (self.next_run.load(Ordering::Relaxed), *self.longest.lock().unwrap());
        write!(f, "{answered} calls answered, {refused} refused, {runs} runs, the longest call {longest:?}")
    }
}
