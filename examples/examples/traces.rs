//! Traces: a message, its first run and its duplicates in one trace, across producer and consumers.
//!
//! ```text
//! cargo run --example traces
//! ```
//!
//! The runtime opens one `tracing` span a call. A bridge makes it a span of OpenTelemetry, and the producer's context
//! travels in the message as the W3C header `traceparent`: so a duplicate shows in the trace of whoever sent it, with what
//! it came to. Here the spans are printed; a service would name its collector (`opentelemetry-otlp`) in place of `Printed`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idempotent_runtime::{Error, Idempotency, idempotent};
use opentelemetry::trace::{SpanId, TracerProvider as _};
use opentelemetry::{Context, Value, global};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tracing::{Instrument as _, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;

/// What travels: the business, and the headers of the broker.
#[derive(Clone)]
struct Message {
    order: u64,
    headers: HashMap<String, String>,
}

#[idempotent(prefix = "order:consume", keys = [message.order], ttl = 24h)]
async fn consume(message: &Message) -> Result<String, Error> {
    // What the handler does is inside the call's span.
    async { tokio::time::sleep(Duration::from_millis(5)).await }.instrument(info_span!("kitchen.prepare")).await;
    Ok(format!("receipt of {}", message.order))
}

/// Sends an order, with the context of its own span in the headers.
fn produce(order: u64) -> Message {
    let span = info_span!("orders.publish", order).entered();
    let mut headers = HashMap::new();
    global::get_text_map_propagator(|propagator| propagator.inject_context(&span.context(), &mut headers));
    Message { order, headers }
}

/// One delivery: its span goes on with the producer's trace.
async fn deliver(message: Message, consumer: &'static str) {
    let producer: Context = global::get_text_map_propagator(|propagator| propagator.extract(&message.headers));
    let span = info_span!("orders.process", consumer);
    if span.set_parent(producer).is_err() {
        tracing::debug!("nobody listens for traces");
    }
    if let Err(error) = consume(&message).instrument(span).await {
        tracing::debug!(%error, "to be delivered again");
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let printed = Printed::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(printed.clone()).build();
    global::set_text_map_propagator(TraceContextPropagator::new());
    let bridge = tracing_opentelemetry::layer().with_tracer(provider.tracer("shop")).with_location(false);
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(bridge))?;
    Idempotency::memory().install()?;

    let message = produce(1001);
    let twice = [deliver(message.clone(), "a"), deliver(message.clone(), "b")];
    futures_util::future::join_all(twice).await;
    deliver(message, "a").await;

    provider.shutdown()?;
    printed.print();
    Ok(())
}

/// Keeps the spans, and prints them as a tree.
#[derive(Clone, Debug, Default)]
struct Printed(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Printed {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().expect("no other panics").extend(batch);
        Ok(())
    }
}

impl Printed {
    fn print(&self) {
        let mut spans = self.0.lock().expect("no other panics");
        spans.sort_by_key(|span| span.start_time);
        println!(
            "one trace: {}",
            spans.iter().all(|span| span.span_context.trace_id() == spans[0].span_context.trace_id())
        );
        branch(&spans, SpanId::INVALID, 0);
    }
}

fn branch(spans: &[SpanData], parent: SpanId, depth: usize) {
    for span in spans.iter().filter(|span| span.parent_span_id == parent) {
        let told =
            ["consumer", "key", "outcome", "attempt"].into_iter().filter_map(|name| Some((name, value(span, name)?)));
        let told: Vec<_> = told.map(|(name, value)| format!("{name}={value}")).collect();
        println!("{:indent$}{} {}", "", span.name, told.join(" "), indent = 2 * depth);
        branch(spans, span.span_context.span_id(), depth + 1);
    }
}

fn value<'a>(span: &'a SpanData, name: &str) -> Option<&'a Value> {
    Some(&span.attributes.iter().find(|attribute| attribute.key.as_str() == name)?.value)
}
