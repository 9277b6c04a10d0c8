//! One PostgreSQL server.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use crate::process::{Process, Slot};
use crate::program::tool;
use crate::{Error, Program, port};

/// A server starts in a second, and more slowly after a crash or on a machine that is busy.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long a server may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(5);

/// How often a start is tried: another's port, or a server that was killed and is not quite gone.
const TRIES: usize = 20;

/// The user that PostgreSQL runs as where the tests are run by root, which it refuses.
const USER: &str = "postgres";

/// A running PostgreSQL server of its own, ended when this is dropped.
///
/// It starts in about two seconds, as the user `postgres` where whoever runs the test is root. Its superuser is
/// `postgres`, without a password.
#[derive(Debug)]
pub struct Postgres {
    settings: PostgresBuilder,
    port: u16,
    // Ended before its folder is removed: fields are dropped in this order.
    server: Slot,
    folder: TempDir,
}

/// Settings for a [`Postgres`], before it is started.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing runs before `start`"]
pub struct PostgresBuilder {
    settings: Vec<String>,
    durable: bool,
}

impl PostgresBuilder {
    /// Sets one of the server's parameters, as `lock_timeout=1s`.
    pub fn set(mut self, parameter: impl Into<String>) -> Self {
        self.settings.push(parameter.into());
        self
    }

    /// Writes every commit to disk before it is answered, as a server in use does.
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Makes a database and starts the server on it, and waits until it answers.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] where it is not installed; [`Error::NotReady`] where it does not start,
    /// with what it wrote to its log.
    pub fn start(self) -> Result<Postgres, Error> {
        let program = Program::Postgres.find()?;
        let folder =
            TempDir::with_prefix("idempotent-postgres-").map_err(Error::while_doing("create a temporary folder"))?;
        make_database(folder.path())?;
        let mut tries = 1..TRIES;
        loop {
            let port = port::free().map_err(Error::while_doing("find a free port"))?;
            match self.launch(&program, folder.path(), port) {
                Ok(server) => return Ok(Postgres { settings: self, port, server: Slot::new(server), folder }),
                Err(error) if says(&error, "Address already in use") && tries.next().is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn launch(&self, program: &Path, folder: &Path, port: u16) -> Result<Process, Error> {
        let (first, arguments) = as_user(program)?;
        let mut server = Process::spawn("postgres", &first, folder.join("log"), |command| {
            let durable = if self.durable { "on" } else { "off" };
            command.args(arguments).arg("-D").arg(folder.join("data"));
            let ours = [
                format!("port={port}"),
                "listen_addresses=127.0.0.1".to_owned(),
                format!("unix_socket_directories={}", folder.display()),
                format!("fsync={durable}"),
                "max_connections=400".to_owned(),
                "shared_buffers=32MB".to_owned(),
            ];
            for setting in ours.iter().chain(&self.settings) {
                command.args(["-c", setting]);
            }
            command.current_dir(folder);
        })?;
        // By its own socket, for another's server may have taken the port.
        let socket = folder.join(format!(".s.PGSQL.{port}"));
        server.wait_until_ready(PATIENCE, |_| accepts_clients(&socket).unwrap_or(false))?;
        Ok(server)
    }
}

impl Postgres {
    /// Starts a server with nothing set but what the tests need.
    ///
    /// # Errors
    ///
    /// As [`PostgresBuilder::start`].
    pub fn start() -> Result<Self, Error> {
        Self::builder().start()
    }

    /// Begins a server with settings of its own.
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }

    /// The URL for a client, as the superuser and in the database `postgres`.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// The port, the same after a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id of the server; none while it is killed.
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }

    /// The server's own folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sends SIGKILL to the server and to all of its processes: connections break where they are, and new ones are
    /// refused. Returns when the server has ended.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] where it was killed already.
    pub fn kill(&self) -> Result<(), Error> {
        self.server.with(|server| {
            // It can start no more processes while the others are killed.
            server.stop()?;
            for child in children(server.pid()) {
                // One that has ended by now is as good.
                _ = kill_process(child, Signal::KILL);
            }
            Ok(())
        })?;
        self.server.kill()
    }

    /// Starts the server again on its port and its data, killing it first if it runs.
    ///
    /// # Errors
    ///
    /// As [`PostgresBuilder::start`].
    pub fn restart(&self) -> Result<(), Error> {
        let program = Program::Postgres.find()?;
        if self.pid().is_some() {
            self.kill()?;
        }
        self.server.replace(|| {
            let mut tries = 1..TRIES;
            loop {
                match self.settings.launch(&program, self.folder.path(), self.port) {
                    // A process of the killed server still has its memory.
                    Err(error) if says(&error, "shared memory block") && tries.next().is_some() => {
                        std::thread::sleep(Duration::from_millis(50));
                    }
                    done => return done,
                }
            }
        })
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Killed, it would leave a segment of shared memory behind. SIGQUIT ends it and its processes at once.
        self.server.end(Signal::QUIT, FAREWELL);
    }
}

/// What runs a program as somebody who is not root: the program itself, or `setpriv` with arguments.
pub(crate) fn as_user(program: &Path) -> Result<(PathBuf, Vec<OsString>), Error> {
    if !geteuid().is_root() {
        return Ok((program.to_path_buf(), Vec::new()));
    }
    let options = ["--reuid", USER, "--regid", USER, "--clear-groups", "--pdeathsig", "KILL"];
    let arguments = options.into_iter().map(OsString::from).chain([program.into()]).collect();
    Ok((tool("setpriv")?, arguments))
}

fn make_database(folder: &Path) -> Result<(), Error> {
    let initdb = Program::Initdb.find()?;
    let (program, arguments) = as_user(&initdb)?;
    own(folder)?;
    let made = Command::new(program)
        .args(arguments)
        .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"])
        .arg(folder.join("data"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Error::Spawn { program: initdb, source })?;
    if made.status.success() {
        return Ok(());
    }
    let log = String::from_utf8_lossy(&made.stderr).into_owned();
    Err(Error::NotReady { server: "initdb", reason: format!("it ended with {}", made.status), log })
}

/// Gives a folder to whoever runs the server.
pub(crate) fn own(folder: &Path) -> Result<(), Error> {
    if geteuid().is_root() {
        let (user, group) = (id("-u")?, id("-g")?);
        chown(folder, Some(user), Some(group)).map_err(Error::while_doing("give a folder away"))?;
    }
    Ok(())
}

fn id(which: &str) -> Result<u32, Error> {
    let doing = "find the user `postgres`";
    let output = Command::new("id").args([which, USER]).output().map_err(Error::while_doing(doing))?;
    let number = String::from_utf8_lossy(&output.stdout).trim().parse();
    number.map_err(|_| Error::Io { doing, source: io::ErrorKind::NotFound.into() })
}

/// The processes of a server; on Linux.
fn children(pid: u32) -> Vec<Pid> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)).collect()
}

/// Whether a server lets a client in: not while it recovers.
fn accepts_clients(socket: &Path) -> io::Result<bool> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    greets(stream)
}

/// Whether whoever is at the other end lets a client in.
pub(crate) fn greets(mut stream: impl io::Read + io::Write) -> io::Result<bool> {
    const AUTHENTICATION: u8 = b'R';
    let body = b"\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00";
    let length = u32::try_from(body.len() + 4).unwrap_or_default();
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(body)?;
    let mut first = [0];
    stream.read_exact(&mut first)?;
    Ok(first == [AUTHENTICATION])
}

fn says(error: &Error, words: &str) -> bool {
    matches!(error, Error::NotReady { log, .. } if log.contains(words))
}
