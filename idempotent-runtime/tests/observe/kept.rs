//! What is traced, kept to be looked at.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

pub(crate) type Fields = BTreeMap<&'static str, String>;

/// Keeps what is traced.
#[derive(Clone, Default)]
pub(crate) struct Kept {
    pub(crate) spans: Arc<Mutex<Vec<(u64, Fields)>>>,
    events: Arc<Mutex<Vec<(Level, String, Fields)>>>,
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
        self.events.lock().unwrap().push((*event.metadata().level(), message, fields));
    }
}

/// One test at a time: whether a log line is of interest is decided once for all threads, so a test without a subscriber
/// can turn it off under another.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kept {
    pub(crate) fn start() -> (Self, (tracing::subscriber::DefaultGuard, MutexGuard<'static, ()>)) {
        let (kept, alone) = (Self::default(), alone());
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(kept.clone()));
        (kept, (guard, alone))
    }

    pub(crate) fn outcomes(&self) -> Vec<String> {
        let spans = self.spans.lock().unwrap();
        spans.iter().map(|(_, fields)| fields.get("outcome").cloned().unwrap_or_default()).collect()
    }

    pub(crate) fn levels(&self, part: &str) -> Vec<Level> {
        let events = self.events.lock().unwrap();
        events.iter().filter(|(_, message, _)| message.contains(part)).map(|(level, ..)| *level).collect()
    }

    /// What a field said each time.
    #[cfg(feature = "testing")]
    pub(crate) fn fields(&self, part: &str, name: &str) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let of_these = events.iter().filter(|(_, message, _)| message.contains(part));
        of_these.filter_map(|(_, _, fields)| fields.get(name).cloned()).collect()
    }
}
