//! Each option through the attribute, on the memory store: that what is written reaches the runtime and means there
//! what the documentation says. What the runtime makes of it in every state is tested there.

#![warn(clippy::all, clippy::pedantic, clippy::nursery)]
#![deny(unused)]
#![allow(clippy::unused_async)]

use std::cell::Cell;
use std::future::{Future, pending};
use std::time::Duration;

use idempotent_runtime::testing::{Fault, FaultyStore, Gate, Operation};
use idempotent_runtime::{
    Disposition, Error, ErrorKind, Idempotency, MemoryStore, OnError, current, idempotent, with_outcome,
};
use serde::{Deserialize, Serialize};
use tokio::time::{advance, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

thread_local! {
    /// Runs of bodies in the test that this thread is.
    static RUNS: Cell<u64> = const { Cell::new(0) };
}

/// What every body does: counts its runs.
fn ran() -> u64 {
    RUNS.set(RUNS.get() + 1);
    RUNS.get()
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Failure {
    Declined,
    Network,
    Refused(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error.kind().as_str().to_owned())
    }
}

fn refused<T>(kind: ErrorKind) -> Result<T, Failure> {
    Err(Failure::Refused(kind.as_str().to_owned()))
}

/// Runs a test under a store of its own.
async fn on_memory<T>(test: impl Future<Output = T>) -> T {
    Idempotency::memory().scope(test).await
}

/// A call that starts, and goes away half way.
async fn dropped<T>(call: impl Future<Output = T>) {
    assert!(timeout(SECOND, call).await.is_err(), "it hangs");
    // What it leaves behind is settled in the background.
    tokio::task::yield_now().await;
}

mod on_crash {
    use super::*;

    #[idempotent(prefix = "rerun", keys = [id], ttl = 1h, on_crash = rerun)]
    async fn rerun(id: u64, hangs: bool) -> Result<u64, Failure> {
        if hangs { pending().await } else { Ok(ran()) }
    }

    #[idempotent(prefix = "hold", keys = [id], ttl = 1h, on_crash = hold)]
    async fn hold(id: u64, hangs: bool) -> Result<u64, Failure> {
        if hangs { pending().await } else { Ok(ran()) }
    }

    #[tokio::test(start_paused = true)]
    async fn rerun_runs_again() {
        on_memory(async {
            dropped(rerun(7, true)).await;
            assert_eq!(rerun(7, false).await, Ok(1));
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn hold_waits_for_a_person() {
        on_memory(async {
            dropped(hold(7, true)).await;
            advance(100 * HOUR).await;
            assert_eq!(hold(7, false).await, refused(ErrorKind::Indeterminate));
            assert_eq!(hold(8, false).await, Ok(1), "another key");
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn max_attempts_bounds_the_runs() {
    #[idempotent(prefix = "thrice", keys = [id], ttl = 1h, max_attempts = 3)]
    async fn thrice(id: u64) -> Result<u64, Failure> {
        ran();
        Err(Failure::Network)
    }

    on_memory(async {
        for _ in 0..3 {
            assert_eq!(thrice(7).await, Err(Failure::Network));
        }
        assert_eq!(thrice(7).await, refused(ErrorKind::Exhausted));
        assert_eq!(RUNS.get(), 3);
    })
    .await;
}

mod on_error {
    use super::*;

    #[idempotent(prefix = "release", keys = [id], ttl = 1h, on_error = release)]
    async fn release(id: u64, failure: Failure) -> Result<u64, Failure> {
        ran();
        Err(failure)
    }

    #[idempotent(prefix = "record", keys = [id], ttl = 1h, on_error = record)]
    async fn record(id: u64, failure: Failure) -> Result<u64, Failure> {
        ran();
        Err(failure)
    }

    #[idempotent(prefix = "judge", keys = [id], ttl = 1h, on_error = Failure::judge)]
    async fn judge(id: u64, failure: Failure) -> Result<u64, Failure> {
        ran();
        Err(failure)
    }

    #[idempotent(prefix = "closure", keys = [id], ttl = 1h, map_err = |error| error.to_string(), on_error = |error| {
        if error.starts_with("no ") { OnError::Reject(error.clone()) } else { OnError::Release }
    })]
    async fn closure(id: u64, failure: &str) -> Result<(), String> {
        ran();
        Err(failure.to_owned())
    }

    #[idempotent(prefix = "mapped", keys = [id], ttl = 1h, on_error = record, map_err = |error| error.to_string())]
    async fn mapped(id: u64) -> Result<(), String> {
        ran();
        Err("cold".to_owned())
    }

    impl Failure {
        fn judge(&self) -> OnError {
            match self {
                Self::Declined => OnError::Reject("the card was declined".to_owned()),
                Self::Network | Self::Refused(_) => OnError::Release,
            }
        }
    }

    #[tokio::test]
    async fn a_released_error_runs_again() {
        on_memory(async {
            assert_eq!(release(7, Failure::Declined).await, Err(Failure::Declined));
            assert_eq!(release(7, Failure::Network).await, Err(Failure::Network));
            assert_eq!(RUNS.get(), 2);
        })
        .await;
    }

    #[tokio::test]
    async fn a_recorded_error_is_the_result() {
        on_memory(async {
            assert_eq!(record(7, Failure::Declined).await, Err(Failure::Declined));
            let (duplicate, outcome) = with_outcome(record(7, Failure::Network)).await;
            assert_eq!(duplicate, Err(Failure::Declined));
            assert_eq!(outcome.disposition(), Disposition::DeadLetter);
            assert_eq!(RUNS.get(), 1);
            for _ in 0..2 {
                assert_eq!(mapped(7).await, Err("cold".to_owned()));
            }
            assert_eq!(RUNS.get(), 2);
        })
        .await;
    }

    #[tokio::test]
    async fn a_function_tells_final_failures_from_passing_ones() {
        on_memory(async {
            assert_eq!(judge(7, Failure::Network).await, Err(Failure::Network));
            assert_eq!(judge(7, Failure::Declined).await, Err(Failure::Declined), "it ran again");
            assert_eq!(judge(7, Failure::Network).await, refused(ErrorKind::Failed));
            assert_eq!(RUNS.get(), 2);
        })
        .await;
    }

    #[tokio::test]
    async fn so_does_a_closure() {
        on_memory(async {
            assert_eq!(closure(7, "cold").await, Err("cold".to_owned()));
            assert_eq!(closure(7, "no flour").await, Err("no flour".to_owned()));
            let duplicate = closure(7, "cold").await.unwrap_err();
            assert!(duplicate.contains("no flour"), "{duplicate}");
            assert_eq!(RUNS.get(), 2);
        })
        .await;
    }
}

mod on_lost {
    use super::*;

    /// A handler that stops at a gate, once for each value of the option.
    macro_rules! gated {
        ($($on_lost:ident)*) => {$(
            #[idempotent(prefix = "lost", keys = [id], ttl = 1h, lease = 30s, on_lost = $on_lost)]
            async fn $on_lost(id: u64, gate: &Gate) -> Result<u64, Failure> {
                gate.pass().await;
                Ok(ran())
            }
        )*};
    }

    gated!(cancel strict finish);

    /// Ends a call whose store was silent for two leases.
    async fn silent(call: impl Future<Output = Result<u64, Failure>>, gate: &Gate, faults: &FaultyStore) -> bool {
        let disturb = async {
            gate.reached().await;
            faults.go_down();
            sleep(60 * SECOND).await;
            gate.open();
            sleep(3 * SECOND).await;
            faults.heal();
        };
        let (result, ()) = tokio::join!(call, disturb);
        result.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn only_strict_stops_for_a_silent_store() {
        let faults = FaultyStore::new(MemoryStore::new());
        let idempotency = Idempotency::with_store(faults.clone());
        let gates = [Gate::new("cancel"), Gate::new("strict"), Gate::new("finish")];
        idempotency
            .scope(async {
                assert!(silent(cancel(1, &gates[0]), &gates[0], &faults).await);
                assert!(!silent(strict(2, &gates[1]), &gates[1], &faults).await);
                assert!(silent(finish(3, &gates[2]), &gates[2], &faults).await);
            })
            .await;
    }

    /// Ends a call whose claim another worker has taken over.
    async fn overtaken(
        call: impl Future<Output = Result<u64, Failure>>,
        gate: &Gate,
        (faults, other): (&FaultyStore, &Idempotency),
    ) -> Result<u64, Failure> {
        let open = Gate::new("of the other");
        open.open();
        let disturb = async {
            gate.reached().await;
            faults.always(Operation::Renew, Fault::Fails);
            sleep(31 * SECOND).await;
            other.scope(cancel(1, &open)).await.unwrap();
            faults.heal();
            // The next renewal, at the latest, brings the news.
            sleep(3 * SECOND).await;
            gate.open();
        };
        tokio::join!(call, disturb).0
    }

    #[tokio::test(start_paused = true)]
    async fn only_finish_goes_on_when_another_has_taken_over() {
        for finishes in [false, true] {
            let (memory, gate) = (MemoryStore::new(), Gate::new("body"));
            let other = Idempotency::with_store(memory.clone());
            let faults = FaultyStore::new(memory);
            let idempotency = Idempotency::with_store(faults.clone());
            let lost = if finishes {
                idempotency.scope(overtaken(finish(1, &gate), &gate, (&faults, &other))).await
            } else {
                idempotency.scope(overtaken(cancel(1, &gate), &gate, (&faults, &other))).await
            };
            assert_eq!(lost.is_ok(), finishes, "{lost:?}");
        }
    }
}

mod on_busy {
    use super::*;

    #[idempotent(prefix = "busy", keys = [id], ttl = 1h, on_busy = reject)]
    async fn rejects(id: u64) -> Result<u64, Failure> {
        sleep(10 * SECOND).await;
        Ok(ran())
    }

    #[idempotent(prefix = "busy", keys = [id], ttl = 1h, on_busy = wait(1m))]
    async fn waits(id: u64) -> Result<u64, Failure> {
        rejects(id).await
    }

    #[idempotent(prefix = "busy", keys = [id], ttl = 1h, on_busy = wait(patience))]
    async fn waits_as_told(id: u64, patience: Duration) -> Result<u64, Failure> {
        rejects(id).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_duplicate_in_progress_is_refused_or_waits() {
        on_memory(async {
            let (first, refused_at_once, waited, impatient) =
                tokio::join!(rejects(7), rejects(7), waits(7), waits_as_told(7, SECOND));
            assert_eq!(first, Ok(1));
            assert_eq!(refused_at_once, refused(ErrorKind::Busy));
            assert_eq!(waited, Ok(1), "the first one's value");
            assert_eq!(impatient, refused(ErrorKind::Busy));
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn timeout_bounds_a_run() {
    #[idempotent(prefix = "timed", keys = [id], ttl = 1h, timeout = 1m)]
    async fn timed(id: u64, takes: Duration) -> Result<u64, Failure> {
        sleep(takes).await;
        Ok(ran())
    }

    #[idempotent(prefix = "timed-per-call", keys = [id], ttl = 1h, timeout = allowed)]
    async fn per_call(id: u64, allowed: Duration) -> Result<u64, Failure> {
        sleep(60 * SECOND).await;
        Ok(ran())
    }

    on_memory(async {
        assert_eq!(timed(7, HOUR).await, refused(ErrorKind::TimedOut));
        assert_eq!(timed(7, SECOND).await, Ok(1));
        assert_eq!(per_call(7, SECOND).await, refused(ErrorKind::TimedOut));
        assert_eq!(per_call(7, HOUR).await, Ok(2));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn ttl_forever_does_not_end() {
    #[idempotent(prefix = "forever", keys = [id], ttl = forever)]
    async fn forever(id: u64) -> Result<u64, Failure> {
        Ok(ran())
    }

    on_memory(async {
        assert_eq!(forever(7).await, Ok(1));
        advance(1_000_000 * HOUR).await;
        assert_eq!(forever(7).await, Ok(1));
    })
    .await;
}

#[tokio::test]
async fn fenced_gives_a_fence_that_grows() {
    #[idempotent(prefix = "fenced", keys = [id], ttl = 1h, fenced)]
    async fn fenced(id: u64) -> Result<u64, Failure> {
        Ok(current().expect("a claim").fence().expect("a fence"))
    }

    on_memory(async {
        let first = fenced(7).await.unwrap();
        assert_eq!(fenced(7).await.unwrap(), first, "replayed");
        assert!(fenced(8).await.unwrap() > 0);
    })
    .await;
}

mod hidden {
    use super::*;

    #[idempotent(prefix = "hidden", keys = [name], ttl = 1h, fingerprint = age, hidden)]
    async fn hidden(name: &str, age: u8) -> Result<u64, Failure> {
        if age == 0 { Err(Failure::Network) } else { Ok(ran()) }
    }

    #[tokio::test]
    async fn the_key_says_nothing_of_its_parts() {
        let with = |secret: &[u8]| Idempotency::builder().secret(secret).build(MemoryStore::new()).unwrap();
        let idempotency = with(b"a secret of sixteen");
        let expected = idempotency.hidden_key("hidden", &[&"Ada"]).unwrap();
        assert_ne!(with(b"another of sixteen").hidden_key("hidden", &[&"Ada"]).unwrap(), expected);
        idempotency
            .scope(async {
                let (first, outcome) = with_outcome(hidden("Ada", 36)).await;
                assert_eq!((first, outcome.key()), (Ok(1), Some(expected.as_str())));
                assert_eq!(hidden("Ada", 36).await, Ok(1));
                assert_eq!(hidden("Bob", 36).await, Ok(2));
                assert_eq!(hidden("Ada", 37).await, refused(ErrorKind::Mismatch));
                assert_eq!(hidden("", 36).await, refused(ErrorKind::MissingKeyPart));
            })
            .await;
    }

    #[tokio::test]
    async fn the_record_says_nothing_of_an_error() {
        #[idempotent(prefix = "told", keys = [name], ttl = 1h, hidden, map_err = |error| error.to_string())]
        async fn told(name: &str) -> Result<(), String> {
            Err(format!("{name} is unknown"))
        }

        let idempotency = Idempotency::builder().secret([7; 32]).build(MemoryStore::new()).unwrap();
        let key = idempotency.hidden_key("told", &[&"Ada"]).unwrap();

        assert!(idempotency.scope(told("Ada")).await.is_err());
        let record = idempotency.inspect(&key).await.unwrap().expect("a record");
        assert!(!format!("{record:?}").contains("unknown"), "{record:?}");
    }

    #[tokio::test]
    async fn without_a_secret_nothing_runs() {
        on_memory(async {
            assert_eq!(hidden("Ada", 36).await, refused(ErrorKind::Configuration));
            assert_eq!(RUNS.get(), 0);
        })
        .await;
        assert_eq!(Idempotency::disabled().scope(hidden("Ada", 36)).await, Ok(1), "nothing is kept there");
        let short = Idempotency::builder().secret("too short").build(MemoryStore::new()).unwrap_err();
        assert_eq!(short.kind(), ErrorKind::Configuration);
    }
}
