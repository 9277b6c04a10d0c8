//! Requests behind the layer for `Idempotency-Key`, against the same handler without it: through sockets, with bodies of
//! 1 KiB of JSON both ways.

mod client;
mod server;

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use self::client::Client;
use crate::figures::Figures;
use crate::spread::Spread;

/// Connections, each with one request at a time.
const CONNECTIONS: usize = 16;

/// Replays are of so many keys.
const REPEATED: u64 = 1_000;

/// How long first calls are kept: a server that has run for a while forgets as many as it learns. No longer, so that it is
/// the layer that is measured, and not how quickly this machine fills gigabytes.
const KEPT: Duration = Duration::from_millis(100);

/// How long those are kept that are replayed: longer than the bench takes.
const REPLAYED: Duration = Duration::from_hours(1);

const BARE: &str = "bare";
const FIRST: &str = "first_call";
const REPLAY: &str = "replay";

/// How much is measured.
struct Length {
    rounds: usize,
    /// Turns of each contender in a round.
    turns: usize,
    turn: Duration,
    /// Of each contender, before it is measured.
    warm_up: Duration,
}

pub(crate) fn measure(figures: &mut Figures, quick: bool) -> anyhow::Result<()> {
    let length = if quick {
        Length { rounds: 2, turns: 1, turn: Duration::from_millis(5), warm_up: Duration::ZERO }
    } else {
        Length { rounds: 5, turns: 24, turn: Duration::from_millis(20), warm_up: 2 * KEPT }
    };
    // One thread each: the server's is busy throughout, so what it does for a request is what is measured.
    let (servers, clients) = (runtime()?, runtime()?);
    clients.spawn(stay_awake());
    let mut rates: [Vec<f64>; 3] = Default::default();
    for _ in 0..length.rounds {
        let round = round(&servers, &clients, &length)?;
        for (rates, rate) in rates.iter_mut().zip(round) {
            rates.push(rate);
        }
    }
    let over_bare = |of: &[f64]| Spread::of(of.iter().zip(&rates[0]).map(|(rate, bare)| rate / bare).collect());
    if let (Some(first), Some(replay)) = (over_bare(&rates[1]), over_bare(&rates[2])) {
        (figures.http_first_call, figures.http_replay) = (Some(first.median), Some(replay.median));
        figures.spreads.http_first_call = Some([first.least, first.most]);
        figures.spreads.http_replay = Some([replay.least, replay.most]);
    }
    let names = [BARE, FIRST, REPLAY].into_iter().zip(rates);
    figures.calls_per_second.http = names.filter_map(|(name, rates)| Some((name, Spread::of(rates)?))).collect();
    Ok(())
}

/// Requests a second of each contender: they take short turns, so that whatever else the machine does meets them alike.
fn round(servers: &Runtime, clients: &Runtime, length: &Length) -> anyhow::Result<[f64; 3]> {
    let (bare, first, replay) = servers.block_on(async {
        anyhow::Ok((server::bare().await?, server::layered(KEPT).await?, server::layered(REPLAYED).await?))
    })?;
    let mut contenders = clients.block_on(async {
        let bare = Client::connect(&bare, CONNECTIONS, u64::MAX).await?;
        let first = Client::connect(&first, CONNECTIONS, u64::MAX).await?;
        let mut replay = Client::connect(&replay, CONNECTIONS, REPEATED).await?;
        // Once round, so that no replay is a first call.
        replay.requests(REPEATED).await?;
        anyhow::Ok([bare, first, replay])
    })?;
    let mut calls = [0; 3];
    for (contender, calls) in contenders.iter_mut().zip(&mut calls) {
        let begun = Instant::now();
        while begun.elapsed() < length.warm_up {
            clients.block_on(contender.requests(500))?;
        }
        let time = clients.block_on(contender.requests(500))?;
        *calls = u64::try_from(500 * length.turn.as_nanos() / time.as_nanos())? + 1;
    }
    let mut times = [Duration::ZERO; 3];
    for start in 0..length.turns {
        for at in 0..contenders.len() {
            // Each is the first in its turn: who comes after whom must not matter.
            let at = (start + at) % contenders.len();
            times[at] += clients.block_on(contenders[at].requests(calls[at]))?;
        }
    }
    let turns = u32::try_from(length.turns)?;
    let mut rates = [0.0; 3];
    for at in 0..rates.len() {
        rates[at] = f64::from(u32::try_from(calls[at])?) * f64::from(turns) / times[at].as_secs_f64();
    }
    Ok(rates)
}

fn runtime() -> anyhow::Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
}

/// Keeps the clients' thread from sleeping. To wake a thread on another core costs several microseconds, and here the server
/// would pay them: for every answer, once it is slower than its client. A client elsewhere costs a server nothing of the kind.
async fn stay_awake() {
    loop {
        tokio::task::yield_now().await;
    }
}
