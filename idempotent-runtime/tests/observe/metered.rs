//! Counters, gauges and histograms.

use std::collections::BTreeMap;
use std::time::Duration;

#[cfg(feature = "testing")]
use idempotent_runtime::testing::FaultyStore;
use idempotent_runtime::{Error, Idempotency};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

#[cfg(feature = "testing")]
use crate::front::{self, tiers};
use crate::kept::alone;
use crate::{call, value};

/// Everything measured so far, as `name{label=value,…}`.
fn measured(snapshots: &Snapshotter) -> BTreeMap<String, DebugValue> {
    let rows = snapshots.snapshot().into_vec().into_iter().map(|(key, _, _, value)| {
        let key = key.key();
        let labels: Vec<_> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        (format!("{}{{{}}}", key.name(), labels.join(",")), value)
    });
    rows.collect()
}

/// What is measured while `work` is done, with nothing else.
fn measuring(work: impl Future<Output = ()>) -> BTreeMap<String, DebugValue> {
    let _alone = alone();
    let recorder = DebuggingRecorder::new();
    let snapshots = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(work);
    });
    measured(&snapshots)
}

#[test]
fn calls_operations_and_handlers_are_counted_and_the_key_is_no_label() {
    let measured = measuring(async {
        let idempotency = Idempotency::memory();
        call(&idempotency).run(async { Err::<u32, _>(failure(&idempotency).await) }).await.unwrap_err();
        call(&idempotency).run(value()).await.unwrap();
        call(&idempotency).run(value()).await.unwrap();
    });
    let counted = |name: &str| match measured.get(name) {
        Some(DebugValue::Counter(count)) => *count,
        other => panic!("{name}: {other:?} in {measured:#?}"),
    };
    assert_eq!(counted("idempotent_calls_total{prefix=order:consume,outcome=executed}"), 1);
    assert_eq!(counted("idempotent_calls_total{prefix=order:consume,outcome=replayed}"), 1);
    assert_eq!(counted("idempotent_calls_total{prefix=order:consume,outcome=failed}"), 1);
    assert_eq!(counted("idempotent_retries_total{}"), 1);
    let samples = |name: &str| match measured.get(name) {
        Some(DebugValue::Histogram(samples)) => samples.len(),
        other => panic!("{name}: {other:?} in {measured:#?}"),
    };
    assert_eq!(samples("idempotent_handler_seconds{prefix=order:consume}"), 2);
    assert_eq!(samples("idempotent_store_seconds{store=memory,operation=claim}"), 3);
    assert_eq!(samples("idempotent_store_seconds{store=memory,operation=complete}"), 1);
    assert_eq!(samples("idempotent_store_seconds{store=memory,operation=release}"), 1);
    assert!(matches!(
        measured.get("idempotent_in_progress{prefix=order:consume}"),
        Some(DebugValue::Gauge(running)) if running.0 == 0.0
    ));
    assert!(!measured.keys().any(|name| name.contains("1001")), "{measured:#?}");
}

/// Any error of the handler's type.
async fn failure(idempotency: &Idempotency) -> Error {
    idempotency.call("nothing").ttl(Duration::from_mins(1)).run(value()).await.unwrap_err()
}

/// How often the truth was asked alone for want of the front, where orders are consumed one after the other.
#[cfg(feature = "testing")]
fn without_a_front(harm: impl Fn(&FaultyStore), orders: &[u32]) -> Option<u64> {
    let measured = measuring(async {
        let (front, idempotency) = tiers();
        harm(&front);
        for order in orders {
            assert_eq!(front::call(&idempotency, *order).await.0, *order);
        }
    });
    match measured.get("idempotent_front_unavailable_total{}") {
        Some(DebugValue::Counter(count)) => Some(*count),
        None => None,
        other => panic!("{other:?} in {measured:#?}"),
    }
}

#[cfg(feature = "testing")]
#[test]
fn operations_that_go_without_the_front_are_counted() {
    assert_eq!(without_a_front(|_| (), &[1, 1, 2, 2]), None, "it is well");
    // The first claim fails, and what follows of that key is not told to the front. Of another key there is the claim,
    // and the completion.
    for harm in [FaultyStore::go_down, front::falls_silent] {
        assert_eq!(without_a_front(harm, &[1]), Some(1));
        assert_eq!(without_a_front(harm, &[1, 2]), Some(3));
    }
}
