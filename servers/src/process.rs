//! One running server: started, signalled and ended by its process id.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use crate::Error;
use crate::program::tool;

/// Between two looks at whether a server is ready.
const POLL: Duration = Duration::from_millis(5);

/// How much of a server's log goes into an error.
const LOG_LINES: usize = 15;

/// A child process that is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    server: &'static str,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program, with its output in a log file.
    pub(crate) fn spawn(
        server: &'static str,
        program: &Path,
        log: PathBuf,
        configure: impl FnOnce(&mut Command),
    ) -> Result<Self, Error> {
        let output = File::create(&log).map_err(Error::while_doing("create a log file"))?;
        let errors = output.try_clone().map_err(Error::while_doing("share a log file"))?;
        let mut command = mortal(program);
        configure(&mut command);
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        // A group of its own: a Ctrl-C in a terminal is for the program that uses the server, which may still need it.
        command.process_group(0);

        let child =
            spawn_for_good(command).map_err(|source| Error::Spawn { program: program.to_path_buf(), source })?;
        Ok(Self { server, child, log })
    }

    /// Waits until the probe says that the server answers.
    pub(crate) fn wait_until_ready(
        &mut self,
        patience: Duration,
        mut answers: impl FnMut(u32) -> bool,
    ) -> Result<(), Error> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().map_err(Error::while_doing("wait for a server"))? {
                return Err(self.not_ready(format!("it ended with {status}")));
            }
            if answers(self.pid()) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(self.not_ready(format!("it did not answer within {patience:?}")));
            }
            thread::sleep(POLL);
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops the process where it stands; returns when it has.
    pub(crate) fn stop(&self) -> Result<(), Error> {
        self.signal(Signal::STOP)?;
        let stopped_or_ended = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        rustix::io::retry_on_intr(|| waitid(WaitId::Pid(self.raw_pid()), stopped_or_ended))
            .map_err(io::Error::from)
            .map_err(Error::while_doing("wait for a server to stop"))?;
        Ok(())
    }

    /// Lets a stopped process go on.
    pub(crate) fn cont(&self) -> Result<(), Error> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), Error> {
        kill_process(self.raw_pid(), signal)
            .map_err(io::Error::from)
            .map_err(Error::while_doing("send a signal to a server"))
    }

    fn raw_pid(&self) -> Pid {
        // Not yet waited for, so the id is not another's by now.
        Pid::from_child(&self.child)
    }

    fn not_ready(&self, reason: String) -> Error {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().filter(|line| !line.trim().is_empty()).collect();
        let log = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
        Error::NotReady { server: self.server, reason, log }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its group first: whatever it has started goes with it. Not where it was waited for: then its id may be another's.
        if matches!(self.child.try_wait(), Ok(None)) {
            _ = kill_process_group(self.raw_pid(), Signal::KILL);
        }
        // Both fail only where it has ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A server that can be killed and started again, under a lock so that tests can share it.
#[derive(Debug)]
pub(crate) struct Slot(Mutex<Option<Process>>);

impl Slot {
    pub(crate) fn new(process: Process) -> Self {
        Self(Mutex::new(Some(process)))
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.lock().as_ref().map(Process::pid)
    }

    pub(crate) fn with<T>(&self, act: impl FnOnce(&Process) -> Result<T, Error>) -> Result<T, Error> {
        self.lock().as_ref().map_or(Err(Error::NotRunning), act)
    }

    pub(crate) fn kill(&self) -> Result<(), Error> {
        self.lock().take().map(drop).ok_or(Error::NotRunning)
    }

    /// Asks what runs to end, and kills it where it has not within `patience`.
    pub(crate) fn end(&self, signal: Signal, patience: Duration) {
        let Some(mut process) = self.lock().take() else { return };
        if process.signal(signal).is_err() {
            return;
        }
        let deadline = Instant::now() + patience;
        while matches!(process.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(POLL);
        }
    }

    /// Kills what runs, then puts what the closure starts in its place.
    pub(crate) fn replace(&self, start: impl FnOnce() -> Result<Process, Error>) -> Result<(), Error> {
        let mut slot = self.lock();
        drop(slot.take());
        *slot = Some(start()?);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Process>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command for a program that the operating system ends when this process has gone.
fn mortal(program: &Path) -> Command {
    static SETPRIV: OnceLock<Option<PathBuf>> = OnceLock::new();
    const OPTION: [&str; 2] = ["--pdeathsig", "KILL"];

    // BusyBox has a `setpriv` without that option, so it is tried out.
    let setpriv = SETPRIV.get_or_init(|| {
        let setpriv = tool("setpriv").ok()?;
        let works = Command::new(&setpriv).args(OPTION).arg("true").stderr(Stdio::null()).status();
        works.is_ok_and(|status| status.success()).then_some(setpriv)
    });
    let Some(setpriv) = setpriv else {
        return Command::new(program);
    };
    let mut command = Command::new(setpriv);
    command.args(OPTION).arg(AsRef::<OsStr>::as_ref(program));
    command
}

/// Spawns a child on a thread that lives as long as this process.
///
/// Linux sends the signal of `--pdeathsig` when the *thread* that spawned the child ends: a test's
/// thread, or one of a pool that has been idle for a while.
fn spawn_for_good(command: Command) -> io::Result<Child> {
    type Order = (Command, Sender<io::Result<Child>>);
    static SPAWNER: OnceLock<Sender<Order>> = OnceLock::new();

    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        thread::Builder::new()
            .name("servers-spawner".to_owned())
            .spawn(move || {
                for (mut command, answer) in inbox {
                    _ = answer.send(command.spawn());
                }
            })
            .expect("a thread can be started");
        orders
    });
    let (answer, child) = mpsc::channel();
    let gone = |()| io::Error::other("the thread that starts servers has gone");
    spawner.send((command, answer)).map_err(|_| gone(()))?;
    child.recv().map_err(|_| gone(()))?
}
