//! In shadow every handler runs, and what the guard would have done is told.

#![cfg(feature = "testing")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idempotent_runtime::store::MemoryStore;
use idempotent_runtime::testing::{Fault, FaultyStore, Gate, Operation};
use idempotent_runtime::{Error, ErrorKind, Idempotency, OutcomeKind, idempotent, with_outcome};

const MINUTE: Duration = Duration::from_mins(1);

/// Two handles on the same records.
fn both() -> (Idempotency, Idempotency) {
    let store = MemoryStore::new();
    let guarded = Idempotency::builder().build(store.clone()).expect("good settings");
    let shadow = Idempotency::shadow().build(store).expect("good settings");
    (guarded, shadow)
}

#[idempotent(prefix = "order", keys = [id], ttl = 1m, fingerprint = amount)]
async fn pay(id: Option<u32>, amount: u32, runs: &AtomicU32) -> Result<u32, Error> {
    Ok(amount + runs.fetch_add(1, Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn a_first_call_is_recorded_and_a_duplicate_runs_all_the_same() {
    let (guarded, shadow) = both();
    let runs = AtomicU32::new(0);
    let (first, outcome) = with_outcome(shadow.scope(pay(Some(1), 10, &runs))).await;
    assert_eq!((first.unwrap(), outcome.kind()), (10, OutcomeKind::Executed));
    let (second, outcome) = with_outcome(shadow.scope(pay(Some(1), 10, &runs))).await;
    assert_eq!((second.unwrap(), outcome.kind()), (11, OutcomeKind::Unguarded { ok: true }));
    // The first one's record stands; guarded, the duplicate gets it.
    assert_eq!(guarded.scope(pay(Some(1), 10, &runs)).await.unwrap(), 10);
    assert_eq!(runs.into_inner(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_mismatch_and_a_missing_part_run_all_the_same() {
    let (guarded, shadow) = both();
    let runs = AtomicU32::new(0);
    shadow.scope(pay(Some(1), 10, &runs)).await.unwrap();
    for (id, amount, kind) in [(Some(1), 11, ErrorKind::Mismatch), (None, 10, ErrorKind::MissingKeyPart)] {
        assert_eq!(guarded.scope(pay(id, amount, &runs)).await.unwrap_err().kind(), kind);
        assert!(shadow.scope(pay(id, amount, &runs)).await.is_ok(), "{kind:?}");
    }
    assert_eq!(runs.load(Ordering::Relaxed), 3);

    // The same without the attribute.
    let call =
        |handle: &Idempotency| handle.call("order").key(None::<u32>).ttl(MINUTE).run(async { Ok::<_, Error>(7) });
    assert_eq!(call(&guarded).await.unwrap_err().kind(), ErrorKind::MissingKeyPart);
    assert_eq!(call(&shadow).await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_call_in_progress_holds_nobody_up() {
    let (guarded, shadow) = both();
    let gate = Gate::new("in the first run");
    let at_the_gate = gate.clone();
    let first = tokio::spawn(shadow.call("order").key(1).ttl(MINUTE).run(async move {
        at_the_gate.pass().await;
        Ok::<_, Error>(1)
    }));
    gate.reached().await;
    let call = |handle: &Idempotency| {
        handle.call("order").key(1).ttl(MINUTE).timeout(Duration::from_secs(1)).run(async {
            tokio::time::sleep(MINUTE).await;
            Ok::<_, Error>(2)
        })
    };
    assert_eq!(call(&guarded).await.unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(call(&shadow).await.unwrap(), 2, "nor does a time-out end it");
    gate.open();
    assert_eq!(first.await.unwrap().unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_outage_stops_nobody() {
    let store = FaultyStore::new(MemoryStore::new());
    let shadow = Idempotency::shadow().store_timeout(Duration::from_secs(1)).build(store.clone()).unwrap();
    let guarded = Idempotency::builder().store_timeout(Duration::from_secs(1)).build(store.clone()).unwrap();
    let call = |handle: &Idempotency| handle.call("order").key(1).ttl(MINUTE).run(async { Ok::<_, Error>(7) });
    store.always(Operation::Claim, Fault::Fails);
    assert_eq!(call(&guarded).await.unwrap_err().kind(), ErrorKind::StoreUnavailable);
    assert_eq!(call(&shadow).await.unwrap(), 7);
}

#[cfg(feature = "metrics")]
#[test]
fn what_would_have_been_is_counted() {
    use metrics_util::debugging::{DebugValue, DebuggingRecorder};

    let recorder = DebuggingRecorder::new();
    let snapshots = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (_, shadow) = both();
            let runs = AtomicU32::new(0);
            for (id, amount) in [(Some(1), 10), (Some(1), 10), (Some(1), 10), (Some(1), 11), (None, 10)] {
                shadow.scope(pay(id, amount, &runs)).await.unwrap();
            }
            let first = shadow.call("order").key(2).ttl(MINUTE).run(async {
                let held = shadow.call("order").key(2).ttl(MINUTE).run(async { Ok::<_, Error>(2) });
                held.await
            });
            assert_eq!(first.await.unwrap(), 2);
        });
    });
    let mut counted: Vec<(String, String, u64)> = Vec::new();
    for (key, _, _, value) in snapshots.snapshot().into_vec() {
        let (key, DebugValue::Counter(count)) = (key.key(), value) else { continue };
        let label = |name: &str| key.labels().find(|label| label.key() == name).map(|label| label.value().to_owned());
        if key.name() == "idempotent_shadow_total" {
            counted.push((label("prefix").unwrap(), label("would").unwrap(), count));
        }
    }
    counted.sort();
    let of = |would: &str, count| ("order".to_owned(), would.to_owned(), count);
    assert_eq!(counted, [of("held", 1), of("refused", 2), of("replayed", 2)]);
}
