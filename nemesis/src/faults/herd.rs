//! The processes of consumers: started, killed, stopped.

use std::env;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use examples::signal;
use rand::rngs::StdRng;
use rand::seq::IteratorRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use super::Tally;
use super::bag::Bag;
use crate::consumer::Settings;
use crate::deployment::POLL;
use crate::history::{Event, Log};
use crate::work::LEASE;

/// The name of the hidden subcommand.
pub(crate) const CONSUME: &str = "consume";

const PROCESSES: usize = 4;

/// How many of them are left in motion.
const IN_MOTION: usize = 2;

/// How long a process may take to end once it is told that all is over.
const GRACE: Duration = Duration::from_secs(30);

pub(crate) struct Herd {
    processes: Vec<Process>,
    settings: Settings,
    rng: StdRng,
    harms: Bag<Harm>,
    log: Arc<Log>,
    tally: Tally,
}

#[derive(Clone, Copy, Debug)]
enum Harm {
    Kill,
    Stop,
}

struct Process {
    child: Child,
    stopped_until: Option<Instant>,
}

impl Herd {
    pub(crate) fn start(settings: Settings, seed: u64, log: Arc<Log>, tally: Tally) -> Result<Self> {
        let rng = StdRng::seed_from_u64(seed);
        let mut herd =
            Self { processes: Vec::new(), settings, rng, harms: Bag::of(&[Harm::Kill, Harm::Stop]), log, tally };
        for _ in 0..PROCESSES {
            let process = herd.spawn()?;
            herd.processes.push(process);
        }
        Ok(herd)
    }

    fn spawn(&mut self) -> Result<Process> {
        let settings = Settings { seed: self.rng.random(), ..self.settings.clone() };
        let child = Command::new(env::current_exe()?)
            .arg(CONSUME)
            .arg(serde_json::to_string(&settings)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("a process of consumers could not be started")?;
        Ok(Process { child, stopped_until: None })
    }

    /// Kills or stops one.
    pub(crate) fn harm(&mut self) -> Result<()> {
        let in_motion = self.processes.iter().enumerate().filter(|(_, process)| process.stopped_until.is_none());
        let in_motion: Vec<_> = in_motion.map(|(at, _)| at).collect();
        let Some(victim) = in_motion.iter().copied().choose(&mut self.rng) else { return Ok(()) };
        match self.harms.draw(&mut self.rng) {
            Harm::Kill => self.kill(victim),
            Harm::Stop if in_motion.len() > IN_MOTION => self.stop(victim),
            Harm::Stop => Ok(()),
        }
    }

    fn kill(&mut self, victim: usize) -> Result<()> {
        let new = self.spawn()?;
        let process = &mut self.processes[victim];
        self.tally.count("consumer_killed", process.child.id());
        process.child.kill()?;
        process.child.wait()?;
        self.log.write(&Event::Killed { process: process.child.id() });
        *process = new;
        Ok(())
    }

    /// Has one stand still for longer than a lease.
    fn stop(&mut self, victim: usize) -> Result<()> {
        let process = &mut self.processes[victim];
        let id = process.child.id();
        self.tally.count("consumer_stopped", id);
        self.log.write(&Event::Stopped { process: id });
        signal::stop(id)?;
        process.stopped_until = Some(Instant::now() + LEASE.mul_f64(self.rng.random_range(0.3..2.0)));
        Ok(())
    }

    /// Resumes whom it is time for, and sees to it that none ends by itself.
    pub(crate) fn tend(&mut self) -> Result<()> {
        for process in &mut self.processes {
            if let Some(status) = process.child.try_wait()? {
                bail!("a process of consumers has ended by itself: {status}");
            }
            if process.stopped_until.is_some_and(|until| until <= Instant::now()) {
                process.resume(&self.log)?;
            }
        }
        Ok(())
    }

    /// Resumes all.
    pub(crate) fn heal(&mut self) -> Result<()> {
        let mut stopped = self.processes.iter_mut().filter(|process| process.stopped_until.is_some());
        stopped.try_for_each(|process| process.resume(&self.log))
    }

    /// Waits until all have ended, once the desk is closed.
    pub(crate) fn end(mut self) -> Result<()> {
        let deadline = Instant::now() + GRACE;
        for process in &mut self.processes {
            let status = loop {
                match process.child.try_wait()? {
                    Some(status) => break status,
                    None if Instant::now() > deadline => bail!("a process of consumers did not end within {GRACE:?}"),
                    None => thread::sleep(POLL),
                }
            };
            ensure!(status.success(), "a process of consumers did not end well: {status}");
        }
        Ok(())
    }
}

impl Process {
    fn resume(&mut self, log: &Log) -> Result<()> {
        signal::resume(self.child.id())?;
        // After the fact: what it does until then was done by one that had stood still.
        log.write(&Event::Resumed { process: self.child.id() });
        self.stopped_until = None;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
