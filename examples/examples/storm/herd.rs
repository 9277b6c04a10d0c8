//! The herd of consumers: tasks in this process, or processes of their own that can be killed and stopped.

use std::env;
use std::io::{self, Read as _};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use examples::signal;
use rand::{RngExt as _, rng};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::consumer::{self, LEASE, Settings};
use crate::harm::{Harm, Rhythm, choose};
use crate::ledger::Ledger;
use crate::sink::Sink;

/// Over how many processes the consumers are spread.
const PROCESSES: usize = 5;

/// How many of them are left in motion.
const IN_MOTION: usize = 2;

/// How long consumers may take to stop: they finish what is in flight.
const GRACE: Duration = Duration::from_secs(10);

/// The name of the hidden subcommand.
pub(crate) const CONSUME: &str = "consume";

pub(crate) enum Herd {
    Tasks { consumers: JoinHandle<Result<()>>, stop: watch::Sender<bool> },
    Processes { processes: Vec<Process>, harm: Harm },
}

pub(crate) struct Process {
    child: Child,
    settings: Settings,
    /// It stands still, until then.
    stopped_until: Option<Instant>,
}

impl Herd {
    /// Starts the consumers, as processes where those are to be harmed.
    pub(crate) fn start(
        settings: Settings,
        kill_every: Option<Duration>,
        stop_every: Option<Duration>,
    ) -> Result<Self> {
        if kill_every.or(stop_every).is_none() {
            let (stop, stopped) = watch::channel(false);
            let consumers = tokio::spawn(consumer::consume(settings, stopped));
            return Ok(Self::Tasks { consumers, stop });
        }
        let count = PROCESSES.min(settings.consumers);
        let share = |process| (settings.consumers + process) / count; // the whole, however it divides
        let processes = (0..count)
            .map(|process| Process::spawn(Settings { consumers: share(process), ..settings.clone() }))
            .collect::<Result<_>>()?;
        Ok(Self::Processes { processes, harm: Harm::new(kill_every, stop_every) })
    }

    /// Harms a process when the time has come, and sees to it that nothing else ends one.
    pub(crate) async fn tend(&mut self, sink: &Sink) -> Result<()> {
        match self {
            Self::Tasks { consumers, .. } if consumers.is_finished() => {
                consumers.await??;
                bail!("the consumers have stopped by themselves")
            }
            Self::Tasks { .. } => Ok(()),
            Self::Processes { processes, harm } => {
                for process in &mut *processes {
                    if let Some(status) = process.child.try_wait()? {
                        bail!("a process of consumers has ended by itself: {status}");
                    }
                    if process.stopped_until.is_some_and(|until| until <= Instant::now()) {
                        process.resume(sink)?;
                    }
                }
                // Harm begins with the first run.
                if sink.ledger().counts.runs > 0 {
                    do_harm(processes, harm, sink).await?;
                }
                Ok(())
            }
        }
    }

    pub(crate) fn kills(&self) -> usize {
        match self {
            Self::Tasks { .. } => 0,
            Self::Processes { harm, .. } => harm.kills,
        }
    }

    pub(crate) fn stops(&self) -> usize {
        match self {
            Self::Tasks { .. } => 0,
            Self::Processes { harm, .. } => harm.stops,
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
    pub(crate) async fn stop(self, sink: &Sink) -> Result<()> {
        let late = "the consumers did not stop in time";
        match self {
            Self::Tasks { consumers, stop } => {
                stop.send_replace(true);
                timeout(GRACE, consumers).await.context(late)??
            }
            Self::Processes { mut processes, .. } => {
                for process in &mut processes {
                    if process.stopped_until.is_some() {
                        process.resume(sink)?;
                    }
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

/// Kills and stops processes that are in motion. One that stands still is left for its resumption.
async fn do_harm(processes: &mut [Process], harm: &mut Harm, sink: &Sink) -> Result<()> {
    let victim = |processes: &[Process]| {
        let in_motion: Vec<_> = (0..processes.len()).filter(|&at| processes[at].stopped_until.is_none()).collect();
        let ledger = sink.ledger();
        let victim = choose(&in_motion, |at| processes[at].live_runs(&ledger) > 0);
        (victim, in_motion.len())
    };
    if harm.kill.as_mut().is_some_and(Rhythm::is_due)
        && let (Some(victim), _) = victim(processes)
    {
        processes[victim].kill_and_restart().await?;
        harm.kills += 1;
    }
    if harm.stop.as_mut().is_some_and(Rhythm::is_due)
        && let (Some(victim), in_motion) = victim(processes)
        && in_motion > IN_MOTION
    {
        processes[victim].stop(sink)?;
        harm.stops += 1;
    }
    Ok(())
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
        Ok(Self { child, settings, stopped_until: None })
    }

    fn id(&self) -> Result<u32> {
        self.child.id().context("a process of consumers has ended")
    }

    fn live_runs(&self, ledger: &Ledger) -> usize {
        self.child.id().map_or(0, |id| ledger.live_runs(id))
    }

    async fn kill_and_restart(&mut self) -> Result<()> {
        self.child.kill().await?; // SIGKILL: it can neither see nor delay it
        *self = Self::spawn(self.settings.clone())?;
        Ok(())
    }

    /// Has it stand still for longer than a lease.
    fn stop(&mut self, sink: &Sink) -> Result<()> {
        let id = self.id()?;
        sink.ledger().stops.stop(id);
        signal::stop(id)?;
        self.stopped_until = Some(Instant::now() + LEASE.mul_f64(rng().random_range(1.1..1.6)));
        Ok(())
    }

    fn resume(&mut self, sink: &Sink) -> Result<()> {
        let id = self.id()?;
        sink.ledger().stops.resume(id);
        signal::resume(id)?;
        self.stopped_until = None;
        Ok(())
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
