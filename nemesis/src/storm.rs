//! One run on one deployment: harm for some time, then peace until all is settled, then the check.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde::Serialize;
use tempfile::TempDir;

use crate::checker::{self, Checked};
use crate::consumer::Settings;
use crate::deployment::{Deployment, Kind, POLL};
use crate::desk::{COPIES, Desk, serve};
use crate::faults::{Herd, Network, Servers, Tally};
use crate::history::{self, Event, Log, NEMESIS};

/// Consumers in each process.
const CONSUMERS: u64 = 8;

/// Keys of which a message is not settled, at most: beyond that, publishing waits.
const OPEN: usize = 250;

/// Between two keys.
const BETWEEN_KEYS: Duration = Duration::from_millis(25);

/// How long all messages may take to be settled once nothing is harmed any more.
const PATIENCE: Duration = Duration::from_mins(2);

/// What one run came to.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) deployment: String,
    pub(crate) calls: usize,
    pub(crate) runs: usize,
    pub(crate) faults: BTreeMap<&'static str, usize>,
    pub(crate) violations: usize,
    pub(crate) lost_writes: usize,
    pub(crate) worst_call_ms: u64,
    pub(crate) keys: u64,
    pub(crate) overlapping_stopped: usize,
    pub(crate) unfenced_after_stop: usize,
    pub(crate) effects_accepted: usize,
    pub(crate) effects_refused: usize,
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    /// What is wrong, in words, and where the history is.
    #[serde(skip)]
    pub(crate) complaints: Vec<String>,
    #[serde(skip)]
    pub(crate) history: Option<PathBuf>,
}

/// Storms for that time.
pub(crate) fn storm(kind: Kind, lasting: Duration, seed: u64) -> Result<Report> {
    let folder = TempDir::with_prefix("idempotent-nemesis-")?;
    match storm_in(folder.path(), kind, lasting, seed) {
        Ok(mut report) => {
            if report.violations > 0 {
                report.history = Some(folder.keep());
            }
            Ok(report)
        }
        Err(error) => {
            let history = folder.keep();
            Err(error.context(format!("{kind}, seed {seed}: the history is in {}", history.display())))
        }
    }
}

fn storm_in(history: &Path, kind: Kind, lasting: Duration, seed: u64) -> Result<Report> {
    let started = Instant::now();
    let deployment = Deployment::start(kind)?;
    let log = Arc::new(Log::begin(history, NEMESIS)?);
    let (desk, tally) = (Desk::new(Arc::clone(&log)), Tally::new(Arc::clone(&log)));
    let address = serve(&desk)?;
    let (url, consumers) = (deployment.url(), CONSUMERS);
    let settings = Settings { url, desk: address, history: history.to_path_buf(), consumers, seed };
    let mut herd = Herd::start(settings, seed, Arc::clone(&log), tally.clone())?;
    let mut servers = Servers::new(&deployment, Arc::clone(&desk), seed, Arc::clone(&log), tally.clone());
    let mut network = Network::new(&deployment, seed, tally.clone());

    let until = Instant::now() + lasting;
    // Three hands: one publishes, one harms consumers and connections, one harms servers.
    thread::scope(|scope| {
        let publishing = scope.spawn(|| publish(&desk, seed, until));
        let harming = scope.spawn(|| harm_consumers(&mut herd, &mut network, seed, until));
        let harmed = harm_servers(&mut servers, seed, until);
        publishing.join().expect("it does not panic");
        harming.join().expect("it does not panic")?;
        harmed
    })?;
    herd.heal()?;
    deployment.wait_until_whole().context("in the end")?;
    settle(&desk, &mut herd)?;
    // What was lost shows before it is done again.
    servers.dump_all()?;
    desk.send_all_again();
    settle(&desk, &mut herd)?;
    desk.close();
    herd.end()?;
    servers.dump_all()?;
    log.write(&Event::Over);

    let seconds = started.elapsed().as_secs();
    let Checked {
        calls,
        runs,
        overlapping_stopped,
        unfenced_after_stop,
        effects,
        lost_writes,
        worst_call_ms,
        violations,
    } = checker::check(&history::read(history)?);
    Ok(Report {
        deployment: kind.to_string(),
        calls,
        runs,
        faults: tally.counts(),
        violations: violations.len(),
        lost_writes,
        worst_call_ms,
        keys: desk.keys().0,
        overlapping_stopped,
        unfenced_after_stop,
        effects_accepted: effects.0,
        effects_refused: effects.1,
        seconds,
        seed,
        complaints: violations,
        history: None,
    })
}

/// Publishes the messages of ever new keys: some at the same moment, some seconds later.
fn publish(desk: &Desk, seed: u64, until: Instant) {
    let mut rng = StdRng::seed_from_u64(seed);
    while Instant::now() < until {
        if desk.keys().1 < OPEN {
            let mut delays = [Duration::ZERO; COPIES];
            delays[1] = Duration::from_millis(rng.random_range(0..150));
            delays[2] = Duration::from_millis(rng.random_range(500..8000));
            desk.publish(delays);
        }
        thread::sleep(BETWEEN_KEYS);
    }
}

fn harm_consumers(herd: &mut Herd, network: &mut Network<'_>, seed: u64, until: Instant) -> Result<()> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut pause = || Duration::from_millis(rng.random_range(150..700));
    let mut next = Instant::now() + pause();
    let mut consumers_turn = true;
    while Instant::now() < until {
        herd.tend()?;
        if Instant::now() >= next {
            if consumers_turn {
                herd.harm()?;
            } else {
                network.harm();
            }
            consumers_turn = !consumers_turn;
            next = Instant::now() + pause();
        }
        thread::sleep(POLL);
    }
    Ok(())
}

fn harm_servers(servers: &mut Servers<'_>, seed: u64, until: Instant) -> Result<()> {
    let mut rng = StdRng::seed_from_u64(seed);
    loop {
        thread::sleep(Duration::from_millis(rng.random_range(500..2500)));
        if Instant::now() >= until {
            return Ok(());
        }
        servers.harm()?;
    }
}

/// Waits until all messages are settled, or that can no longer be hoped for: the checker complains of those.
fn settle(desk: &Desk, herd: &mut Herd) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !desk.is_settled() && Instant::now() < deadline {
        herd.tend()?;
        thread::sleep(POLL);
    }
    Ok(())
}
