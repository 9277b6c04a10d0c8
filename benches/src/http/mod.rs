//! Requests behind the layer for `Idempotency-Key`, against the same handler without it: through sockets, with bodies of
//! 1 KiB of JSON both ways.
//!
//! Twice. As users meet it: a client of theirs, and the server, on all cores of the machine. And as a server meets it that has
//! nothing else to do: one thread that is busy throughout, and a client that costs nothing. There, what people would write by
//! hand stands beside it.

mod by_hand;
mod client;
mod server;
mod user;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use self::client::Client;
use self::user::User;
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

/// The contenders, in this order.
const NAMES: [&str; 4] = ["bare", "first_call", "replay", "by_hand"];

/// How much is measured.
struct Length {
    rounds: usize,
    /// Turns of each contender in a round.
    turns: usize,
    turn: Duration,
    /// Of each contender, before it is measured.
    warm_up: Duration,
}

/// The requests of one contender.
enum Requests {
    Raw(Client),
    User(User),
}

impl Requests {
    async fn make(&mut self, requests: u64) -> anyhow::Result<Duration> {
        match self {
            Self::Raw(client) => client.requests(requests).await,
            Self::User(user) => user.requests(requests).await,
        }
    }
}

/// Who asks, and where both sides run.
enum Exchange {
    /// A user's client, on the same threads as the server.
    Whole(Runtime),
    /// A client that costs nothing, on a thread of its own.
    ServerAlone { server: Runtime, client: Runtime },
}

impl Exchange {
    fn whole() -> anyhow::Result<Self> {
        Ok(Self::Whole(tokio::runtime::Builder::new_multi_thread().enable_all().build()?))
    }

    fn server_alone() -> anyhow::Result<Self> {
        let thread = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let (server, client) = (thread()?, thread()?);
        client.spawn(stay_awake());
        Ok(Self::ServerAlone { server, client })
    }

    fn server(&self) -> &Runtime {
        match self {
            Self::Whole(both) => both,
            Self::ServerAlone { server, .. } => server,
        }
    }

    fn client(&self) -> &Runtime {
        match self {
            Self::Whole(both) => both,
            Self::ServerAlone { client, .. } => client,
        }
    }

    async fn requests_to(&self, server: &SocketAddr, among: u64) -> anyhow::Result<Requests> {
        Ok(match self {
            Self::Whole(_) => Requests::User(User::of(server, CONNECTIONS, among)?),
            Self::ServerAlone { .. } => Requests::Raw(Client::connect(server, CONNECTIONS, among).await?),
        })
    }
}

/// Keeps the client's thread from sleeping. To wake a thread on another core costs several microseconds, and here the server
/// would pay them: for every answer, once it is slower than its client. A client elsewhere costs a server nothing of the kind.
async fn stay_awake() {
    loop {
        tokio::task::yield_now().await;
    }
}

pub(crate) fn measure(figures: &mut Figures, quick: bool) -> anyhow::Result<()> {
    let length = if quick {
        Length { rounds: 2, turns: 1, turn: Duration::from_millis(5), warm_up: Duration::ZERO }
    } else {
        Length { rounds: 5, turns: 24, turn: Duration::from_millis(20), warm_up: 2 * KEPT }
    };
    let whole = rounds(&Exchange::whole()?, &length)?;
    let alone = rounds(&Exchange::server_alone()?, &length)?;
    let spread = |rates: &[Vec<f64>; 4], of: usize| {
        let over_bare = rates[of].iter().zip(&rates[0]).map(|(rate, bare)| rate / bare);
        Spread::of(over_bare.collect()).map(|spread| (spread.median, [spread.least, spread.most])).unzip()
    };
    (figures.http_first_call, figures.spreads.http_first_call) = spread(&whole, 1);
    (figures.http_replay, figures.spreads.http_replay) = spread(&whole, 2);
    (figures.http_server_first_call, figures.spreads.http_server_first_call) = spread(&alone, 1);
    (figures.http_server_replay, figures.spreads.http_server_replay) = spread(&alone, 2);
    (figures.http_server_by_hand, figures.spreads.http_server_by_hand) = spread(&alone, 3);
    figures.calls_per_second.http = named(whole);
    figures.calls_per_second.http_server = named(alone);
    Ok(())
}

fn named(rates: [Vec<f64>; 4]) -> crate::figures::Rates {
    NAMES.into_iter().zip(rates).filter_map(|(name, rates)| Some((name, Spread::of(rates)?))).collect()
}

/// Requests a second of each contender in each round.
fn rounds(exchange: &Exchange, length: &Length) -> anyhow::Result<[Vec<f64>; 4]> {
    let mut rates: [Vec<f64>; 4] = Default::default();
    for _ in 0..length.rounds {
        for (rates, rate) in rates.iter_mut().zip(round(exchange, length)?) {
            rates.push(rate);
        }
    }
    Ok(rates)
}

/// Requests a second of each contender: they take short turns, so that whatever else the machine does meets them alike.
fn round(exchange: &Exchange, length: &Length) -> anyhow::Result<[f64; 4]> {
    let servers = exchange.server().block_on(async {
        let (bare, first, replay) =
            (server::bare().await?, server::layered(KEPT).await?, server::layered(REPLAYED).await?);
        anyhow::Ok([bare, first, replay, server::by_hand(KEPT).await?])
    })?;
    let client = exchange.client();
    let mut contenders = Vec::new();
    for (name, server) in NAMES.into_iter().zip(&servers) {
        let among = if name == "replay" { REPEATED } else { u64::MAX };
        contenders.push(client.block_on(exchange.requests_to(server, among))?);
    }
    // Once round, so that no replay is a first call.
    client.block_on(contenders[2].make(REPEATED))?;
    let mut calls = [0; 4];
    for (contender, calls) in contenders.iter_mut().zip(&mut calls) {
        let begun = Instant::now();
        while begun.elapsed() < length.warm_up {
            client.block_on(contender.make(500))?;
        }
        let time = client.block_on(contender.make(500))?;
        *calls = u64::try_from(500 * length.turn.as_nanos() / time.as_nanos())? + 1;
    }
    let mut times = [Duration::ZERO; 4];
    for start in 0..length.turns {
        for at in 0..contenders.len() {
            // Each is the first in its turn: who comes after whom must not matter.
            let at = (start + at) % contenders.len();
            times[at] += client.block_on(contenders[at].make(calls[at]))?;
        }
    }
    let turns = u32::try_from(length.turns)?;
    let mut rates = [0.0; 4];
    for at in 0..rates.len() {
        rates[at] = f64::from(u32::try_from(calls[at])?) * f64::from(turns) / times[at].as_secs_f64();
    }
    Ok(rates)
}
