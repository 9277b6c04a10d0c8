//! The herd of consumers: tasks in this process, or processes of their own that can be killed.

use std::env;
use std::io::{self, Read as _};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rand::seq::{IndexedRandom as _, IteratorRandom as _};
use rand::{RngExt as _, rng};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::consumer::{self, Settings};
use crate::ledger::Ledger;
use crate::sink::Sink;

/// Over how many processes the consumers are spread.
const PROCESSES: usize = 5;

/// How long consumers may take to stop: they finish what is in flight.
const GRACE: Duration = Duration::from_secs(10);

/// The name of the hidden subcommand.
pub(crate) const CONSUME: &str = "consume";

pub(crate) enum Herd {
    Tasks { consumers: JoinHandle<Result<()>>, stop: watch::Sender<bool> },
    Processes { processes: Vec<Process>, killer: Killer },
}

pub(crate) struct Process {
    child: Child,
    settings: Settings,
}

/// Kills a process every now and then.
pub(crate) struct Killer {
    every: Duration,
    next: Option<Instant>,
    pub(crate) kills: usize,
}

impl Herd {
    pub(crate) fn start(settings: Settings, kill_every: Option<Duration>) -> Result<Self> {
        let Some(every) = kill_every else {
            let (stop, stopped) = watch::channel(false);
            let consumers = tokio::spawn(consumer::consume(settings, stopped));
            return Ok(Self::Tasks { consumers, stop });
        };
        let count = PROCESSES.min(settings.consumers);
        let share = |process| (settings.consumers + process) / count; // the whole, however it divides
        let processes = (0..count)
            .map(|process| Process::spawn(Settings { consumers: share(process), ..settings.clone() }))
            .collect::<Result<_>>()?;
        Ok(Self::Processes { processes, killer: Killer { every, next: None, kills: 0 } })
    }

    /// Kills a process when the time has come, and sees to it that nothing else ends one.
    pub(crate) async fn tend(&mut self, sink: &Sink) -> Result<()> {
        match self {
            Self::Tasks { consumers, .. } if consumers.is_finished() => {
                consumers.await??;
                bail!("the consumers have stopped by themselves")
            }
            Self::Tasks { .. } => Ok(()),
            Self::Processes { processes, killer } => {
                for process in &mut *processes {
                    if let Some(status) = process.child.try_wait()? {
                        bail!("a process of consumers has ended by itself: {status}");
                    }
                }
                let victim = killer.choose(processes, &sink.ledger());
                if let Some(victim) = victim {
                    processes[victim].kill_and_restart().await?;
                    killer.killed();
                }
                Ok(())
            }
        }
    }

    pub(crate) fn kills(&self) -> usize {
        match self {
            Self::Tasks { .. } => 0,
            Self::Processes { killer, .. } => killer.kills,
        }
    }

    /// Ends the consumers wherever they are.
    pub(crate) fn abort(self) {
        match self {
            Self::Tasks { consumers, .. } => consumers.abort(),
            Self::Processes { processes, .. } => drop(processes), // each is killed as it is dropped
        }
    }

    /// Lets the consumers finish what is in flight.
    pub(crate) async fn stop(self) -> Result<()> {
        let late = "the consumers did not stop in time";
        match self {
            Self::Tasks { consumers, stop } => {
                stop.send_replace(true);
                timeout(GRACE, consumers).await.context(late)??
            }
            Self::Processes { mut processes, .. } => {
                for process in &mut processes {
                    drop(process.child.stdin.take()); // its end is the sign to stop
                }
                for process in &mut processes {
                    let status = timeout(GRACE, process.child.wait()).await.context(late)??;
                    ensure!(status.success(), "a process of consumers did not stop well: {status}");
                }
                Ok(())
            }
        }
    }
}

impl Process {
    fn spawn(settings: Settings) -> Result<Self> {
        let child = Command::new(env::current_exe()?)
            .arg(CONSUME)
            .arg(serde_json::to_string(&settings)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("a process of consumers could not be started")?;
        Ok(Self { child, settings })
    }

    fn live_runs(&self, ledger: &Ledger) -> usize {
        self.child.id().map_or(0, |id| ledger.live_runs(id))
    }

    async fn kill_and_restart(&mut self) -> Result<()> {
        self.child.kill().await?; // SIGKILL: it can neither see nor delay it
        *self = Self::spawn(self.settings.clone())?;
        Ok(())
    }
}

impl Killer {
    /// The process to kill, when it is time: one in the middle of a run, if there is one. The first time comes after a
    /// quarter of what was asked for, counted from the first run; the others after as much, half more or less.
    fn choose(&mut self, processes: &[Process], ledger: &Ledger) -> Option<usize> {
        if ledger.counts.runs == 0 {
            return None;
        }
        let now = Instant::now();
        if now < *self.next.get_or_insert(now + self.every / 4) {
            return None;
        }
        let everyone = || 0..processes.len();
        let in_the_middle: Vec<_> = everyone().filter(|&at| processes[at].live_runs(ledger) > 0).collect();
        in_the_middle.choose(&mut rng()).copied().or_else(|| everyone().choose(&mut rng()))
    }

    fn killed(&mut self) {
        self.kills += 1;
        self.next = Some(Instant::now() + self.every.mul_f64(rng().random_range(0.5..1.5)));
    }
}

/// What the hidden subcommand does: consumes until the parent closes its end of the pipe, or has gone.
pub(crate) async fn be_a_process(settings: &str) -> Result<()> {
    let settings: Settings = serde_json::from_str(settings)?;
    let (stop, stopped) = watch::channel(false);
    // A thread, for tokio's own would keep the process from ending while it reads.
    thread::spawn(move || {
        _ = io::stdin().read_to_end(&mut Vec::new());
        stop.send_replace(true);
    });
    consumer::consume(settings, stopped).await
}
