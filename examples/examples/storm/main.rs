//! Storm: a thousand orders, each delivered three times in any order to fifty consumers, and each prepared once.
//!
//! ```text
//! cargo run --release --example storm                     # starts its own RabbitMQ and Redis
//! cargo run --release --example storm -- --kill-every 2s  # and kills consumers in the middle of their work
//! cargo run --release --example storm -- --kill-every 500ms --stop-every 1s --for 2m
//!                                                         # and stops others for longer than their lease
//! cargo run --release --example storm -- --json --redis redis://127.0.0.1/ --amqp amqp://guest:guest@127.0.0.1/%2f
//! ```
//!
//! `consumer.rs` has the handler and is what an application would have. The rest judges it: runs are counted by a sink
//! outside the consumers (`sink.rs`, `ledger.rs`), consumers are processes that are killed and stopped at random
//! (`herd.rs`). The sink is fenced (`examples::fence`): it refuses the effect of a process that woke up after another had taken
//! over, which no lease can prevent; what it did is checked by other means.
//!
//! It ends with an error when a message is not settled, an order is not completed, two runs of an order overlap of which
//! none stood still, an effect is accepted below the highest fence of its order, or more runs were made than orders and
//! interruptions explain.

mod consumer;
mod harm;
mod herd;
mod ledger;
mod publisher;
mod sink;
mod stops;
mod summary;

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use clap::Parser as _;
use examples::backend::Backend;
use examples::broker::Broker;
use examples::duration;
use indicatif::{ProgressBar, ProgressStyle};
use lapin::{Connection, ConnectionProperties};
use tokio::time::sleep;
use tracing_subscriber::EnvFilter;

use crate::consumer::Settings;
use crate::herd::Herd;
use crate::ledger::Ledger;
use crate::publisher::Publisher;
use crate::sink::Sink;
use crate::summary::Summary;

/// A storm in which no message is settled for so long is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// With `--stop-every`, how long an effect is on its way to the sink: long enough for some stops to fall into it.
const ON_THE_WAY: Duration = Duration::from_millis(20);

/// Delivers orders several times to many consumers, and counts what happens.
#[derive(Debug, clap::Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Options {
    #[command(subcommand)]
    role: Option<Role>,
    /// Orders; with `--for`, as many at a time
    #[arg(long, default_value_t = 1000)]
    orders: usize,
    /// Deliveries of each order
    #[arg(long, default_value_t = 3)]
    copies: usize,
    /// Consumers, each with one delivery at a time
    #[arg(long, default_value_t = 50)]
    consumers: usize,
    /// Time that the handler needs
    #[arg(long, default_value = "50ms", value_parser = duration::parse)]
    work: Duration,
    /// Run the consumers as processes and kill one every so often
    #[arg(long, value_parser = duration::parse)]
    kill_every: Option<Duration>,
    /// Run the consumers as processes and stop one every so often, for longer than its lease
    #[arg(long, value_parser = duration::parse)]
    stop_every: Option<Duration>,
    /// Publish new orders for this time, as others are settled
    #[arg(long = "for", value_parser = duration::parse)]
    lasting: Option<Duration>,
    /// Give up after this time, from the last order
    #[arg(long, default_value = "5m", value_parser = duration::parse)]
    within: Duration,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// URL of Redis; without it, one is started
    #[arg(long)]
    redis: Option<String>,
    /// URL of RabbitMQ; without it, one is started
    #[arg(long)]
    amqp: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum Role {
    /// What a process of consumers is started as
    #[command(name = herd::CONSUME, hide = true)]
    Consume { settings: String },
}

fn main() -> Result<()> {
    let options = Options::parse();
    tracing_subscriber::fmt().with_env_filter(EnvFilter::from_default_env()).with_writer(std::io::stderr).init();
    if let Some(Role::Consume { settings }) = options.role {
        return tokio::runtime::Runtime::new()?.block_on(herd::be_a_process(&settings));
    }
    ensure!(options.orders > 0 && options.copies > 0 && options.consumers > 0, "nothing to do");
    let backend = Backend::given_or_own(options.redis.clone(), options.amqp.clone())?;
    tokio::runtime::Runtime::new()?.block_on(async {
        tokio::select! {
            done = storm(&options, &backend) => done,
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        }
    })
}

async fn storm(options: &Options, backend: &Backend) -> Result<()> {
    let storm = format!("storm-{:08x}", rand::random::<u32>());
    let connection = Connection::connect(&backend.amqp, ConnectionProperties::default()).await?;
    let broker = Broker::open(&connection, &storm).await?;
    let sink = Sink::open(Ledger::new(options.copies)).await?;
    let publisher = Publisher { broker: &broker, sink: &sink, orders: options.orders, copies: options.copies };
    publisher.publish(options.orders).await?;
    let settings = Settings {
        storm: storm.clone(),
        amqp: backend.amqp.clone(),
        redis: backend.redis.clone(),
        sink: sink.address,
        consumers: options.consumers,
        work: options.work,
        on_the_way: if options.stop_every.is_some() { ON_THE_WAY } else { Duration::ZERO },
    };
    let started = Instant::now();
    let mut herd = Herd::start(settings.clone(), options.kill_every, options.stop_every)?;
    let watched = watch(&mut herd, &publisher, options.lasting.unwrap_or_default(), options.within).await;
    let seconds = started.elapsed().as_secs_f64();
    let harm = (herd.kills(), herd.stops());
    let mut ended = end(herd, watched, &publisher).await;
    // What those who were killed last had held, settled but not acknowledged, comes back only when the broker has noticed:
    // others, whom nobody harms, take it.
    while ended.as_ref().is_ok_and(|left| *left > 0) {
        let mut herd = Herd::start(settings.clone(), None, None)?;
        let watched = watch(&mut herd, &publisher, Duration::ZERO, options.within).await;
        ended = end(herd, watched, &publisher).await;
    }
    let bytes = bytes_per_record(&backend.redis, &storm).await?;
    broker.delete().await?;
    broker.close().await?;
    connection.close(200, "the storm is over".into()).await?;

    let summary = Summary::new(&sink.ledger(), harm, seconds, bytes);
    if options.json {
        println!("{}", serde_json::to_string(&summary)?);
    } else {
        summary.print_table();
    }
    let mut violations = sink.ledger().violations();
    violations.extend(ended.err().map(|error| format!("{error:#}")));
    ensure!(violations.is_empty(), "{}", violations.join("; "));
    Ok(())
}

/// Watches until all is published and settled and no copy is left in a queue, or until that can no longer be hoped for.
async fn watch(herd: &mut Herd, publisher: &Publisher<'_>, lasting: Duration, within: Duration) -> Result<()> {
    let Publisher { broker, sink, .. } = publisher;
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} settled, {msg} {elapsed}")?;
    let bar = ProgressBar::new(0).with_style(style);
    let (started, mut progress) = (Instant::now(), (0, Instant::now()));
    loop {
        sleep(Duration::from_millis(20)).await;
        herd.tend(sink).await?;
        let publishing = started.elapsed() < lasting;
        if publishing {
            publisher.publish_more().await?;
        }
        let (counts, messages) = {
            let ledger = sink.ledger();
            (ledger.counts, ledger.published())
        };
        bar.set_length(u64::try_from(messages)?);
        bar.set_position(u64::try_from(counts.settled)?);
        bar.set_message(format!("{} runs, {} kills, {} stops,", counts.runs, herd.kills(), herd.stops()));
        if !publishing && counts.settled == messages && broker.waiting().await? == 0 {
            bar.finish_and_clear();
            return Ok(());
        }
        if counts.settled > progress.0 {
            progress = (counts.settled, Instant::now());
        }
        ensure!(progress.1.elapsed() < PATIENCE, "stuck: nothing was settled for {PATIENCE:?}");
        ensure!(started.elapsed() < lasting + within, "given up after {:?}", lasting + within);
    }
}

/// Stops the consumers; how many messages are left then.
async fn end(herd: Herd, watched: Result<()>, publisher: &Publisher<'_>) -> Result<u32> {
    match watched {
        Ok(()) => {
            herd.stop(publisher.sink).await?;
            left_over(publisher.broker).await
        }
        Err(error) => {
            herd.abort();
            Err(error)
        }
    }
}

/// What a consumer held comes back once the broker has noticed that it has gone.
async fn left_over(broker: &Broker) -> Result<u32> {
    let deadline = Instant::now() + PATIENCE;
    while broker.consumers().await? > 0 {
        ensure!(Instant::now() < deadline, "the broker still has consumers");
        sleep(Duration::from_millis(20)).await;
    }
    broker.waiting().await
}

/// What Redis says that a record takes, on average.
async fn bytes_per_record(url: &str, storm: &str) -> Result<u64> {
    let mut redis = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
    let (mut cursor, mut records, mut bytes) = (0_u64, 0_u64, 0_u64);
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(format!("*{storm}*")).arg("COUNT").arg(1000);
        let (next, keys): (u64, Vec<String>) = scan.query_async(&mut redis).await?;
        for key in keys {
            let size: u64 = redis::cmd("MEMORY").arg("USAGE").arg(key).query_async(&mut redis).await?;
            records += 1;
            bytes += size;
        }
        cursor = next;
        if cursor == 0 {
            return Ok(bytes.checked_div(records).unwrap_or_default());
        }
    }
}
