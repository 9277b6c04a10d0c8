//! What people see of a call: one span with its fields, log lines at their levels, metrics.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idempotent_runtime::{CallBuilder, Error, Idempotency};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

type Fields = BTreeMap<&'static str, String>;

/// Keeps what is traced.
#[derive(Clone, Default)]
struct Kept {
    spans: Arc<Mutex<Vec<(u64, Fields)>>>,
    events: Arc<Mutex<Vec<(Level, String)>>>,
}

struct Into<'a>(&'a mut Fields);

impl Visit for Into<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Kept {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        if attributes.metadata().name() == "idempotent" {
            let mut fields = Fields::new();
            attributes.record(&mut Into(&mut fields));
            self.spans.lock().unwrap().push((id.into_u64(), fields));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut spans = self.spans.lock().unwrap();
        if let Some((_, fields)) = spans.iter_mut().rev().find(|(span, _)| *span == id.into_u64()) {
            values.record(&mut Into(fields));
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::new();
        event.record(&mut Into(&mut fields));
        let message = fields.remove("message").unwrap_or_default();
        self.events.lock().unwrap().push((*event.metadata().level(), message));
    }
}

/// One test at a time: whether a log line is of interest is decided once for all threads, so a test without a subscriber
/// can turn it off under another.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kept {
    fn start() -> (Self, (tracing::subscriber::DefaultGuard, MutexGuard<'static, ()>)) {
        let (kept, alone) = (Self::default(), alone());
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(kept.clone()));
        (kept, (guard, alone))
    }

    fn outcomes(&self) -> Vec<String> {
        let spans = self.spans.lock().unwrap();
        spans.iter().map(|(_, fields)| fields.get("outcome").cloned().unwrap_or_default()).collect()
    }

    fn levels(&self, part: &str) -> Vec<Level> {
        let events = self.events.lock().unwrap();
        events.iter().filter(|(_, message)| message.contains(part)).map(|(level, _)| *level).collect()
    }
}

fn call(idempotency: &Idempotency) -> CallBuilder {
    idempotency.call("order:consume").key(1001).ttl(Duration::from_mins(1)).lease(Duration::from_secs(3))
}

async fn value() -> Result<u32, Error> {
    Ok(1)
}

#[tokio::test(start_paused = true)]
async fn one_span_a_call_says_who_did_what_to_which_key() {
    let (kept, _guard) = Kept::start();
    let idempotency = Idempotency::builder().owner("consumer-3").build(idempotent_runtime::MemoryStore::new()).unwrap();
    call(&idempotency).run(value()).await.unwrap();
    call(&idempotency).run(value()).await.unwrap();
    let spans = kept.spans.lock().unwrap().clone();
    assert_eq!(spans.len(), 2);
    let expected = [
        ("attempt", "1"),
        ("key", "order:consume:1001"),
        ("outcome", "executed"),
        ("owner", "consumer-3"),
        ("prefix", "order:consume"),
    ];
    assert_eq!(spans[0].1, expected.map(|(name, value)| (name, value.to_owned())).into());
    assert_eq!(kept.outcomes(), ["executed", "replayed"]);
}

#[tokio::test(start_paused = true)]
async fn duplicates_are_quiet_and_takeovers_are_warnings() {
    let (kept, _guard) = Kept::start();
    let idempotency = Idempotency::memory();
    call(&idempotency).run(value()).await.unwrap();
    call(&idempotency).run(value()).await.unwrap();
    assert_eq!(kept.levels("ended without a first execution"), [Level::DEBUG]);
    assert!(kept.levels("took over").is_empty());

    // A worker of another handle dies: nobody renews its claim.
    let store = idempotency.store();
    let key = idempotency.key("order:consume", &[&1002]).unwrap();
    let request = idempotent_runtime::store::ClaimRequest {
        token: idempotent_runtime::Token::random(),
        owner: "dead",
        fingerprint: None,
        lease: Duration::from_secs(3),
        retention: idempotent_runtime::store::Retention::For(Duration::from_mins(1)),
        held: idempotent_runtime::store::Retention::For(Duration::from_mins(1)),
        on_lapse: idempotent_runtime::store::OnLapse::TakeOver,
        max_attempts: None,
        supersede: None,
        begun: true,
        fenced: false,
    };
    store.claim(&key, &request).await.unwrap();
    tokio::time::advance(Duration::from_secs(4)).await;
    let taken = idempotency.call("order:consume").key(1002).ttl(Duration::from_mins(1)).run(value()).await;
    assert_eq!(taken.unwrap(), 1);
    assert_eq!(kept.levels("took over"), [Level::WARN]);
}

#[cfg(feature = "metrics")]
mod metrics {
    use ::metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

    use super::*;

    /// Everything measured so far, as `name{label=value,…}`.
    fn measured(snapshots: &Snapshotter) -> BTreeMap<String, DebugValue> {
        let rows = snapshots.snapshot().into_vec().into_iter().map(|(key, _, _, value)| {
            let key = key.key();
            let labels: Vec<_> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
            (format!("{}{{{}}}", key.name(), labels.join(",")), value)
        });
        rows.collect()
    }

    #[test]
    fn calls_operations_and_handlers_are_counted_and_the_key_is_no_label() {
        let _alone = alone();
        let recorder = DebuggingRecorder::new();
        let snapshots = recorder.snapshotter();
        ::metrics::with_local_recorder(&recorder, || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(async {
                let idempotency = Idempotency::memory();
                call(&idempotency).run(async { Err::<u32, _>(failure(&idempotency).await) }).await.unwrap_err();
                call(&idempotency).run(value()).await.unwrap();
                call(&idempotency).run(value()).await.unwrap();
            });
        });
        let measured = measured(&snapshots);
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
}
