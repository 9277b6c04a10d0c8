//! Contenders that take turns, so that whatever else the machine does meets each of them alike.

use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use benches::{FIRST_ORDER, Receipt};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::Measured;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length {
    rounds: usize,
    /// Turns of each contender in a round.
    turns: u32,
    turn: Duration,
}

impl Length {
    pub(super) const FULL: Self = Self { rounds: 5, turns: 24, turn: Duration::from_millis(20) };
    pub(super) const QUICK: Self = Self { rounds: 2, turns: 1, turn: Duration::from_millis(5) };
}

/// Something that makes calls.
pub(super) trait Caller: Send + Sync + 'static {
    /// Handles one order, new or not.
    fn call(&self, order: u64) -> impl Future<Output = anyhow::Result<Receipt>> + Send;
}

/// A caller with its name and its orders.
pub(super) struct Contender {
    name: &'static str,
    orders: Arc<Orders>,
    turn: Box<dyn Fn(usize, u32) -> Turn>,
    /// What it does before each round, besides that Redis is emptied.
    begin: Option<Box<dyn Fn() -> Begun>>,
}

/// What has been done before a round.
type Begun = Pin<Box<dyn Future<Output = anyhow::Result<()>>>>;

/// One turn, and how long it took.
type Turn = Pin<Box<dyn Future<Output = anyhow::Result<Duration>>>>;

/// Which order comes next.
struct Orders {
    next: AtomicU64,
    /// After so many the first comes again.
    among: u64,
}

/// Duplicates are of so many orders.
const REPEATED: u32 = 1_000;

impl Orders {
    fn next(&self) -> u64 {
        FIRST_ORDER + self.next.fetch_add(1, Ordering::Relaxed) % self.among
    }
}

impl Contender {
    /// Calls for new orders.
    pub(super) fn first_calls(name: &'static str, caller: impl Caller) -> Self {
        Self::new(name, caller, u64::MAX)
    }

    /// Calls for the same orders again and again.
    pub(super) fn duplicates(name: &'static str, caller: impl Caller) -> Self {
        Self::new(name, caller, REPEATED.into())
    }

    fn new(name: &'static str, caller: impl Caller, among: u64) -> Self {
        let orders = Arc::new(Orders { next: AtomicU64::new(0), among });
        let (caller, of_turns) = (Arc::new(caller), Arc::clone(&orders));
        let turn = move |in_flight, calls| {
            Box::pin(turn(Arc::clone(&caller), Arc::clone(&of_turns), in_flight, calls)) as Turn
        };
        Self { name, orders, turn: Box::new(turn), begin: None }
    }

    /// The same, with something to do before each round.
    pub(super) fn beginning_with<F>(self, begin: impl Fn() -> F + 'static) -> Self
    where
        F: Future<Output = anyhow::Result<()>> + 'static,
    {
        Self { begin: Some(Box::new(move || Box::pin(begin()))), ..self }
    }
}

/// Makes `calls` calls, `in_flight` at a time: each in a task, as in a consumer.
async fn turn<C: Caller>(
    caller: Arc<C>,
    orders: Arc<Orders>,
    in_flight: usize,
    calls: u32,
) -> anyhow::Result<Duration> {
    let left = Arc::new(AtomicU32::new(calls));
    let mut tasks = JoinSet::new();
    let started = Instant::now();
    for _ in 0..in_flight {
        let (caller, orders, left) = (Arc::clone(&caller), Arc::clone(&orders), Arc::clone(&left));
        tasks.spawn(async move {
            while left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                black_box(caller.call(black_box(orders.next())).await?);
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(started.elapsed())
}

/// Measures the contenders' calls a second, in rounds of short turns; before each round the server is to `forget` all.
pub(super) fn measure(
    runtime: &Runtime,
    forget: &dyn Fn() -> anyhow::Result<()>,
    contenders: &[Contender],
    in_flight: usize,
    length: Length,
) -> anyhow::Result<Measured> {
    let turn = |contender: &Contender, calls| runtime.block_on((contender.turn)(in_flight, calls));
    let mut rates = Measured::new();
    for _ in 0..length.rounds {
        forget()?;
        let mut calls = Vec::new();
        for contender in contenders {
            contender.orders.next.store(0, Ordering::Relaxed);
            if let Some(begin) = &contender.begin {
                runtime.block_on(begin())?;
            }
            // Once round, so that no duplicate meets a record in progress.
            turn(contender, REPEATED)?;
            let first = u32::try_from(in_flight)? * 10 + REPEATED;
            let time = turn(contender, first)?;
            let fitting = u128::from(first) * length.turn.as_nanos() / time.as_nanos();
            calls.push(u32::try_from(fitting)? + 1);
        }
        let mut times = vec![Duration::ZERO; contenders.len()];
        for start in 0..length.turns {
            for at in 0..contenders.len() {
                // Each is the first in its turn: who comes after whom must not matter.
                let at = (start as usize + at) % contenders.len();
                times[at] += turn(&contenders[at], calls[at])?;
            }
        }
        for ((contender, calls), time) in contenders.iter().zip(calls).zip(times) {
            let calls = f64::from(calls) * f64::from(length.turns);
            rates.entry(contender.name).or_default().push(calls / time.as_secs_f64());
        }
    }
    Ok(rates)
}
