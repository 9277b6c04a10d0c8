//! One Redis or Valkey server.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::process::{Process, Slot};
use crate::resp::Connection;
use crate::{Error, Program, Reply, pin, port};

/// A server that starts takes milliseconds; a machine that is busy takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Ports tried before a server is given up on.
const TRIES: usize = 5;

/// Which Redis (or what speaks like it) to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RedisBinary {
    /// The `redis-server` that the machine has: Redis 7.0 from Debian 12.
    System,
    /// Redis 8.2.
    Redis8_2,
    /// Valkey 9.1.
    Valkey9_1,
}

impl RedisBinary {
    /// Every one, so that a test can run on each.
    pub const ALL: &[Self] = &[Self::System, Self::Redis8_2, Self::Valkey9_1];

    /// The program that is run.
    pub const fn program(self) -> Program {
        match self {
            Self::System => Program::RedisServer,
            Self::Redis8_2 => Program::Redis8_2,
            Self::Valkey9_1 => Program::Valkey9_1,
        }
    }
}

/// A running server of its own, ended when this is dropped.
///
/// It holds nothing at the start and keeps nothing on disk, unless [`RedisBuilder::persistent`].
#[derive(Debug)]
pub struct Redis {
    settings: RedisBuilder,
    port: u16,
    // Ended before its folder is removed: fields are dropped in this order.
    server: Slot,
    folder: TempDir,
}

/// Settings for a [`Redis`], before it is started.
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `start`"]
pub struct RedisBuilder {
    binary: RedisBinary,
    arguments: Vec<OsString>,
    password: Option<String>,
    port: Option<u16>,
    persistent: bool,
}

impl RedisBuilder {
    /// Adds an argument of the command line, such as `--maxmemory`, and another for its value.
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments of the command line.
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets the password of the default user.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Sets the port, instead of one that is free.
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Writes every change to disk before it is answered, so that [`Redis::restart`] brings back
    /// the data.
    pub fn persistent(mut self) -> Self {
        self.persistent = true;
        self
    }

    /// Starts the server, and waits until it answers.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] where it is not installed; [`Error::NotReady`] where it does not start,
    /// with what it wrote to its log.
    pub fn start(self) -> Result<Redis, Error> {
        let program = self.binary.program().find()?;
        let folder =
            TempDir::with_prefix("idempotent-redis-").map_err(Error::while_doing("create a temporary folder"))?;

        let mut tries = 1..TRIES;
        loop {
            let port = self.choose_port()?;
            match self.launch(&program, folder.path(), port) {
                Ok(server) => return Ok(self.into_redis(port, server, folder)),
                Err(error) if self.port.is_none() && is_port_taken(&error) && tries.next().is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn choose_port(&self) -> Result<u16, Error> {
        let free = || port::free().map_err(Error::while_doing("find a free port"));
        self.port.map_or_else(free, Ok)
    }

    fn into_redis(self, port: u16, server: Process, folder: TempDir) -> Redis {
        Redis { settings: self, port, server: Slot::new(server), folder }
    }

    fn launch(&self, program: &Path, folder: &Path, port: u16) -> Result<Process, Error> {
        let log = folder.join("log");
        let mut server = Process::spawn("redis-server", program, log, |command| {
            let append = if self.persistent { "yes" } else { "no" };
            command
                .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
                .args(["--save", "", "--appendonly", append, "--appendfsync", "always"])
                .arg("--dir")
                .arg(folder);
            if let Some(password) = &self.password {
                command.args(["--requirepass", password]);
            }
            command.args(&self.arguments);
        })?;
        // Its process id in the answer, for another's server may have taken the port.
        server.wait_until_ready(PATIENCE, |pid| {
            self.process_behind(port).is_ok_and(|answering| answering == pid.to_string())
        })?;
        Ok(server)
    }

    fn process_behind(&self, port: u16) -> Result<String, Error> {
        let info = self.connect(port)?.call(&["INFO", "server"])?;
        let info = info.text().unwrap_or_default();
        let pid = info.lines().find_map(|line| line.strip_prefix("process_id:"));
        Ok(pid.unwrap_or_default().trim().to_owned())
    }

    fn connect(&self, port: u16) -> Result<Connection, Error> {
        Connection::open(port, self.password.as_deref())
    }
}

impl Redis {
    /// Starts a server with nothing set but what the tests need.
    ///
    /// # Errors
    ///
    /// As [`RedisBuilder::start`].
    pub fn start(binary: RedisBinary) -> Result<Self, Error> {
        Self::builder(binary).start()
    }

    /// Begins a server with settings of its own.
    pub fn builder(binary: RedisBinary) -> RedisBuilder {
        RedisBuilder { binary, arguments: Vec::new(), password: None, port: None, persistent: false }
    }

    /// The URL for a client: `redis://127.0.0.1:PORT/`, with the password if there is one.
    pub fn url(&self) -> String {
        let password = self.settings.password.as_deref().map(percent_encoded);
        let user = password.map(|password| format!(":{password}@")).unwrap_or_default();
        format!("redis://{user}127.0.0.1:{}/", self.port)
    }

    /// The port, the same after a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id; none while the server is killed.
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }

    /// The server's own folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sends SIGSTOP: connections stay open, and nothing is answered until [`cont`](Self::cont).
    /// Returns when the server has stopped.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] where it was killed.
    pub fn stop(&self) -> Result<(), Error> {
        self.server.with(Process::stop)
    }

    /// Sends SIGCONT: the server goes on where it stopped, and answers what has come meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] where it was killed.
    pub fn cont(&self) -> Result<(), Error> {
        self.server.with(Process::cont)
    }

    /// Sends SIGKILL: connections break, and new ones are refused. Returns when it has ended.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] where it was killed already.
    pub fn kill(&self) -> Result<(), Error> {
        self.server.kill()
    }

    /// Starts the server again on its port, killing it first if it runs. It comes back empty, or
    /// if [`persistent`](RedisBuilder::persistent) with its data, which it may still be reading.
    ///
    /// # Errors
    ///
    /// As [`RedisBuilder::start`].
    pub fn restart(&self) -> Result<(), Error> {
        let program = self.program()?;
        self.server.replace(|| self.settings.launch(&program, self.folder.path(), self.port))
    }

    /// As [`restart`](Self::restart), with all that was on its disk lost.
    ///
    /// # Errors
    ///
    /// As [`RedisBuilder::start`].
    pub fn restart_empty(&self) -> Result<(), Error> {
        let program = self.program()?;
        self.server.replace(|| {
            empty(self.folder.path()).map_err(Error::while_doing("empty a server's folder"))?;
            self.settings.launch(&program, self.folder.path(), self.port)
        })
    }

    /// Keeps the server on one processor core, until it is restarted: see [`pin`].
    ///
    /// # Errors
    ///
    /// As [`pin`].
    pub fn pin_to(&self, core: usize) -> Result<(), Error> {
        pin(self.pid().ok_or(Error::NotRunning)?, core)
    }

    /// Gives the server one command, on a connection of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] with the server's words; [`Error::Io`] where it does not answer within
    /// five seconds.
    pub fn cli<A: AsRef<[u8]>>(&self, arguments: &[A]) -> Result<Reply, Error> {
        self.settings.connect(self.port)?.call(arguments)
    }

    fn program(&self) -> Result<PathBuf, Error> {
        self.settings.binary.program().find()
    }
}

fn is_port_taken(error: &Error) -> bool {
    matches!(error, Error::NotReady { log, .. } if log.contains("Address already in use"))
}

fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// A password as it may stand in a URL.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.extend([byte >> 4, byte & 15].map(hex_digit));
        }
    }
    encoded
}

fn hex_digit(value: u8) -> char {
    char::from_digit(value.into(), 16).expect("four bits are a digit").to_ascii_uppercase()
}
