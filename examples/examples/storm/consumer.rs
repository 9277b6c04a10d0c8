//! The consumers: each takes one delivery at a time, runs the handler, and does as the outcome says.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use examples::broker::Broker;
use futures_util::StreamExt as _;
use idempotent_runtime::{Disposition, Error, Idempotency, current, idempotent, with_outcome};
use lapin::message::Delivery;
use lapin::{Connection, ConnectionProperties};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::fence::Answer;
use crate::ledger::{Report, Verdict};
use crate::sink::Line;

/// Short, so that a killed run is taken over soon; it is renewed while a run lives.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// One copy of an order. All copies of an order are one business action.
#[derive(Serialize, Deserialize)]
pub(crate) struct OrderMessage {
    pub(crate) order_id: usize,
    pub(crate) message: usize,
}

impl Consumer {
    /// The handler. Every effect carries the claim's fence, for the sink to refuse it where another run has taken over.
    #[idempotent(prefix = "order", keys = [message.order_id], ttl = 10m, lease = LEASE, fenced, via = self.idempotency)]
    async fn consume(&self, message: &OrderMessage) -> Result<usize, StormError> {
        let started = Instant::now();
        let order = message.order_id;
        let fence = current().and_then(|claim| claim.fence()).ok_or(StormError::NoFence)?;
        self.take_effect(Report::Start { order, fence }).await?;
        sleep(self.work).await;
        self.take_effect(Report::End { order, fence }).await?;
        self.set_handler_time(started.elapsed());
        Ok(order)
    }
}

#[derive(Debug, thiserror::Error)]
enum StormError {
    #[error(transparent)]
    NotRun(#[from] Error),
    #[error("the claim has no fence")]
    NoFence,
    #[error("the sink refused an effect: another run of the order has taken over")]
    Overtaken,
    #[error(transparent)]
    Sink(#[from] anyhow::Error),
}

/// What consumers need to know; a process of consumers is told it on its command line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// The queue's name, and the namespace of the records.
    pub(crate) storm: String,
    pub(crate) amqp: String,
    pub(crate) redis: String,
    pub(crate) sink: SocketAddr,
    pub(crate) consumers: usize,
    pub(crate) work: Duration,
    /// How long an effect is on its way to the sink.
    pub(crate) on_the_way: Duration,
}

/// How long a consumer tries to connect.
const PATIENCE: Duration = Duration::from_secs(30);

struct Consumer {
    idempotency: Idempotency,
    broker: Broker,
    line: Line,
    work: Duration,
    handler_time: Mutex<Duration>,
}

/// Consumes until it is told to stop, then finishes what is in flight.
pub(crate) async fn consume(settings: Settings, stop: watch::Receiver<bool>) -> Result<()> {
    let Settings { storm, amqp, redis, sink, consumers, work, on_the_way } = settings;
    let idempotency = connected(&storm, &redis).await?;
    let connection = Connection::connect(&amqp, ConnectionProperties::default()).await?;
    let mut tasks = JoinSet::new();
    for _ in 0..consumers {
        let consumer = Consumer {
            idempotency: idempotency.clone(),
            broker: Broker::open(&connection, &storm).await?,
            line: Line::open(sink, on_the_way).await?,
            work,
            handler_time: Mutex::default(),
        };
        tasks.spawn(consumer.run(stop.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    let open = idempotency.shutdown(Duration::from_secs(5)).await;
    open.map_err(|open| anyhow!("{open} calls are still open"))?;
    Ok(connection.close(200, "the storm is over".into()).await?)
}

/// Connects, however long a machine that is busy with a storm takes for it: whoever supervises a consumer would start it
/// again.
async fn connected(storm: &str, redis: &str) -> Result<Idempotency> {
    let started = Instant::now();
    loop {
        match Idempotency::builder().namespace(storm).connect(redis).await {
            Err(error) if started.elapsed() < PATIENCE => tracing::info!(%error, "not connected yet"),
            connected => return Ok(connected?),
        }
    }
}

impl Consumer {
    async fn run(self, mut stop: watch::Receiver<bool>) -> Result<()> {
        let mut deliveries = self.broker.deliveries(1).await?;
        loop {
            let delivery = tokio::select! {
                () = stopped(&mut stop) => break,
                delivery = deliveries.next() => delivery.context("the broker has ended a consumer")??,
            };
            self.handle(&delivery).await?;
        }
        self.broker.cancel(&deliveries).await?;
        self.broker.close().await
    }

    async fn handle(&self, delivery: &Delivery) -> Result<()> {
        let message: OrderMessage = serde_json::from_slice(&delivery.data)?;
        let started = Instant::now();
        let (result, outcome) = with_outcome(self.consume(&message)).await;
        let guard_time = started.elapsed().saturating_sub(self.take_handler_time());

        let disposition = outcome.disposition();
        let report = Report::Delivery {
            message: message.message,
            order: message.order_id,
            outcome: outcome.as_str().to_owned(),
            verdict: match disposition {
                Disposition::Ack => Verdict::Settle,
                Disposition::RetryAfter(_) => Verdict::Requeue,
                Disposition::DeadLetter => Verdict::PutAside,
            },
            guard_us: u64::try_from(guard_time.as_micros())?,
        };
        // Told first: a kill in between brings the message back, and it is told again. The other way round, a message
        // could be gone of which the sink has never heard.
        self.line.tell(report).await?;
        let reason = result.map_or_else(|error| error.to_string(), |_| String::new());
        self.broker.carry_out(disposition, delivery, &reason).await
    }

    async fn take_effect(&self, effect: Report) -> Result<(), StormError> {
        match self.line.tell(effect).await? {
            Answer::Accepted => Ok(()),
            Answer::Refused => Err(StormError::Overtaken),
        }
    }

    fn set_handler_time(&self, time: Duration) {
        *self.handler_time.lock().expect("nothing panics under this lock") = time;
    }

    fn take_handler_time(&self) -> Duration {
        std::mem::take(&mut *self.handler_time.lock().expect("nothing panics under this lock"))
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error says that whoever could say so has gone, which says it too.
    _ = stop.wait_for(|&stop| stop).await;
}
