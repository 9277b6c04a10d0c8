//! A process of consumers: each takes one message at a time and makes a guarded call of it.

use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use examples::line::Line;
use idempotent_runtime::store::{RedisStore, StoreErrorKind};
use idempotent_runtime::{Disposition, Idempotency, current, with_outcome};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::desk::{Ask, Done, Tell};
use crate::history::{Event, Log};
use crate::journal::{CALL, Journal};
use crate::work::{ON_THE_WAY, SETTLE_TIMEOUT, STORE_TIMEOUT, Work};

/// How long a process tries to connect when it starts in the middle of an outage.
const PATIENCE: Duration = Duration::from_mins(1);

/// A message is not kept waiting for longer than this.
const LONGEST_DELAY: Duration = Duration::from_secs(1);

/// One handler in so many fails, and one call in so many is given up by its caller.
const FAILS: u32 = 20;
const GIVEN_UP: u32 = 25;

/// What a process is told on its command line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) url: String,
    pub(crate) desk: SocketAddr,
    pub(crate) history: PathBuf,
    pub(crate) consumers: u64,
    pub(crate) seed: u64,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    NotRun(#[from] idempotent_runtime::Error),
    #[error("the handler failed")]
    Failed,
    #[error("the sink refused an effect: another run has taken over")]
    Overtaken,
    #[error(transparent)]
    Desk(#[from] anyhow::Error),
}

struct Consumer {
    idempotency: Idempotency,
    line: Line<Ask, Tell>,
    log: Arc<Log>,
    calls: Arc<AtomicU64>,
}

/// What the hidden subcommand does: consumes until the desk closes.
pub(crate) async fn be_a_process(settings: &str) -> Result<()> {
    let settings: Settings = serde_json::from_str(settings)?;
    // A thread, for tokio's own would keep the process from ending while it reads. Whoever started it has gone.
    thread::spawn(|| {
        _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(1);
    });
    let process = std::process::id();
    let log = Arc::new(Log::begin(&settings.history, &process.to_string())?);
    log.write(&Event::Process(process));
    let store = Journal::new(connect(&settings.url).await?, Arc::clone(&log));
    let builder = Idempotency::builder().store_timeout(STORE_TIMEOUT).settle_timeout(SETTLE_TIMEOUT);
    let idempotency = builder.build(store)?;
    let (calls, mut tasks) = (Arc::default(), JoinSet::new());
    for consumer in 0..settings.consumers {
        let rng = StdRng::seed_from_u64(settings.seed.wrapping_add(consumer));
        let line = Line::open(settings.desk).await?;
        let (log, calls) = (Arc::clone(&log), Arc::clone(&calls));
        tasks.spawn(Consumer { idempotency: idempotency.clone(), line, log, calls }.consume(rng));
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    let open = idempotency.shutdown(PATIENCE).await;
    open.map_err(|open| anyhow!("{open} calls are still open"))
}

async fn connect(url: &str) -> Result<RedisStore> {
    let started = Instant::now();
    loop {
        match RedisStore::connect(url).await {
            Ok(store) => return Ok(store),
            Err(error) => {
                let hopeless = error.kind() == StoreErrorKind::Refused || started.elapsed() > PATIENCE;
                ensure!(!hopeless, "{error}");
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

impl Consumer {
    async fn consume(self, mut rng: StdRng) -> Result<()> {
        let mut done = None;
        loop {
            match self.line.ask(Ask::Next(done.take()), Duration::ZERO).await? {
                Tell::Over => return Ok(()),
                Tell::Message { message, key } => done = Some(self.handle(key, message, &mut rng).await),
                _ => {}
            }
        }
    }

    /// One guarded call, and what becomes of its message.
    async fn handle(&self, key: u64, message: u64, rng: &mut StdRng) -> Done {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let (run, fails) = (rng.random_range(0..1 << 53), rng.random_ratio(1, FAILS));
        let given_up = rng.random_ratio(1, GIVEN_UP).then(|| Duration::from_millis(rng.random_range(0..500)));
        self.log.write(&Event::Call { call, key, message });
        let calling = CALL.scope(call, with_outcome(self.guarded(key, call, run, fails)));
        let ended = tokio::time::timeout(given_up.unwrap_or(Duration::MAX), calling).await;
        let (outcome, value, done) = match ended {
            Err(_) => ("dropped".to_owned(), None, Done::Again { after_ms: 0 }),
            Ok((result, outcome)) => {
                let done = match outcome.disposition() {
                    Disposition::Ack => Done::Settled,
                    Disposition::RetryAfter(delay) => {
                        let after = delay.min(LONGEST_DELAY).as_millis();
                        Done::Again { after_ms: u64::try_from(after).expect("a second at most") }
                    }
                    // The checker complains of it; the message comes again, so that the rest can be seen.
                    Disposition::DeadLetter => Done::Again { after_ms: 1000 },
                };
                (outcome.as_str().to_owned(), result.ok(), done)
            }
        };
        self.log.write(&Event::Answer { call, outcome, value, settles: done == Done::Settled });
        done
    }

    async fn guarded(&self, key: u64, call: u64, run: u64, fails: bool) -> Result<u64, Failure> {
        let work = Work::of(key);
        let mut guarded = self.idempotency.call("nemesis").key(key).ttl(Duration::from_hours(1)).lease(work.lease);
        guarded = guarded.on_lost(work.on_lost).on_busy(work.on_busy).timeout(work.timeout);
        if work.fenced {
            guarded = guarded.fenced();
        }
        guarded.run(self.handler(key, call, run, work, fails)).await
    }

    /// The handler: some effects, one after the other. Each run has a value of its own.
    async fn handler(&self, key: u64, call: u64, run: u64, work: Work, fails: bool) -> Result<u64, Failure> {
        let claim = current().expect("it runs under a claim");
        let fence = claim.fence().filter(|_| work.fenced);
        self.log.write(&Event::Start { run, call, key, attempt: claim.attempt(), fence });
        for _ in 0..work.effects {
            tokio::time::sleep(work.pause).await;
            self.log.write(&Event::Effect { run });
            if let Tell::Refused = self.line.ask(Ask::Effect { key, run, fence }, ON_THE_WAY).await? {
                return Err(Failure::Overtaken);
            }
        }
        if fails {
            return Err(Failure::Failed);
        }
        self.log.write(&Event::End { run });
        Ok(run)
    }
}
