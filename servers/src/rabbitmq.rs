//! One RabbitMQ broker, with an `epmd` of its own.

use std::env;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::process::{Process, Slot};
use crate::{Error, Program, port};

/// A broker takes 4 s to start, and more on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(90);

/// Sets of ports tried before a broker is given up on.
const TRIES: usize = 3;

/// No alarm that blocks publishers because the disk of a test machine is small.
const CONFIGURATION: &str = "disk_free_limit.absolute = 1MB\n";

/// Distribution on loopback alone, no `epmd` that outlives us, and schedulers that sleep when they
/// have nothing to do, for a test machine has few cores.
const ERLANG_ARGUMENTS: &str = "-kernel inet_dist_use_interface {127,0,0,1} -start_epmd false \
                                +sbwt none +sbwtdcpu none +sbwtdio none";

/// A running RabbitMQ broker of its own, ended when this is dropped.
///
/// It starts in about four seconds, as whoever runs the test: root too.
#[derive(Debug)]
pub struct RabbitMq {
    ports: Ports,
    // The broker ends before the name service that it registers with, and both before their
    // folder is removed: fields are dropped in this order.
    server: Slot,
    _epmd: Process,
    folder: TempDir,
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    amqp: u16,
    distribution: u16,
    epmd: u16,
}

impl RabbitMq {
    /// Starts a broker, and waits until it accepts clients.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] where it is not installed; [`Error::NotReady`] where it does not start,
    /// with what it wrote to its log.
    pub fn start() -> Result<Self, Error> {
        let program = Program::RabbitMq.find()?;
        let epmd = Program::Epmd.find()?;
        let mut tries = 1..TRIES;
        loop {
            match Self::launch(&program, &epmd) {
                Err(error) if is_port_taken(&error) && tries.next().is_some() => {}
                done => return done,
            }
        }
    }

    fn launch(program: &Path, epmd: &Path) -> Result<Self, Error> {
        let folder = TempDir::with_prefix("idempotent-rabbitmq-")
            .and_then(|folder| {
                fs::create_dir(folder.path().join("home"))?;
                fs::write(folder.path().join("enabled_plugins"), "[].\n")?;
                fs::write(folder.path().join("rabbitmq.conf"), CONFIGURATION)?;
                Ok(folder)
            })
            .map_err(Error::while_doing("set up a broker's folder"))?;
        let ports = Ports::free().map_err(Error::while_doing("find free ports"))?;
        let epmd = launch_epmd(epmd, folder.path(), ports)?;
        let broker = launch_broker(program, folder.path(), ports)?;
        Ok(Self { ports, server: Slot::new(broker), _epmd: epmd, folder })
    }

    /// The URL for a client, as the default user and in the default virtual host.
    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.ports.amqp)
    }

    /// The port for clients, the same after a restart.
    pub fn port(&self) -> u16 {
        self.ports.amqp
    }

    /// The broker's process id; none while it is killed.
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }

    /// The broker's own folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sends SIGSTOP: connections stay open, and nothing is answered until [`cont`](Self::cont).
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] where it was killed.
    pub fn stop(&self) -> Result<(), Error> {
        self.server.with(Process::stop)
    }

    /// Sends SIGCONT: the broker goes on where it stopped.
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

    /// Starts the broker again on its port, killing it first if it runs. Durable queues come back
    /// with their persistent messages.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn restart(&self) -> Result<(), Error> {
        let program = Program::RabbitMq.find()?;
        self.server.replace(|| launch_broker(&program, self.folder.path(), self.ports))
    }
}

impl Ports {
    fn free() -> io::Result<Self> {
        // Held together until all are known, so that no two are the same.
        let listeners = [port::listen()?, port::listen()?, port::listen()?];
        let port = |at: usize| Ok::<_, io::Error>(listeners[at].local_addr()?.port());
        Ok(Self { amqp: port(0)?, distribution: port(1)?, epmd: port(2)? })
    }
}

fn launch_epmd(program: &Path, folder: &Path, ports: Ports) -> Result<Process, Error> {
    let mut epmd = Process::spawn("epmd", program, folder.join("epmd.log"), |command| {
        command.args(["-port", &ports.epmd.to_string(), "-address", "127.0.0.1"]).current_dir(folder);
    })?;
    epmd.wait_until_ready(PATIENCE, |_| connect(ports.epmd).is_ok())?;
    Ok(epmd)
}

fn launch_broker(program: &Path, folder: &Path, ports: Ports) -> Result<Process, Error> {
    let log = folder.join("output.log");
    let mut broker = Process::spawn("rabbitmq-server", program, log, |command| {
        // What the user has set is for the user's broker.
        for (name, _) in env::vars_os() {
            let known = name.to_string_lossy();
            if known.starts_with("RABBITMQ_") || known.starts_with("ERL_") {
                command.env_remove(&name);
            }
        }
        command
            .envs(environment(folder, ports))
            // The script then becomes the broker, instead of watching over it: the process that we
            // signal is the broker itself.
            .env("RUNNING_UNDER_SYSTEMD", "true")
            .env_remove("NOTIFY_SOCKET")
            .current_dir(folder);
    })?;
    broker.wait_until_ready(PATIENCE, |_| accepts_clients(ports.amqp).unwrap_or(false))?;
    Ok(broker)
}

fn environment(folder: &Path, ports: Ports) -> Vec<(&'static str, PathBuf)> {
    let text = PathBuf::from;
    vec![
        ("HOME", folder.join("home")),
        ("ERL_EPMD_PORT", text(ports.epmd.to_string())),
        ("ERL_EPMD_ADDRESS", text("127.0.0.1".to_owned())),
        ("RABBITMQ_NODENAME", text(format!("t{}@localhost", ports.amqp))),
        ("RABBITMQ_NODE_IP_ADDRESS", text("127.0.0.1".to_owned())),
        ("RABBITMQ_NODE_PORT", text(ports.amqp.to_string())),
        ("RABBITMQ_DIST_PORT", text(ports.distribution.to_string())),
        ("RABBITMQ_MNESIA_BASE", folder.join("mnesia")),
        ("RABBITMQ_LOG_BASE", folder.join("log")),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", folder.join("enabled_plugins")),
        ("RABBITMQ_CONFIG_FILE", folder.join("rabbitmq.conf")),
        ("RABBITMQ_ADVANCED_CONFIG_FILE", folder.join("advanced.config")),
        ("RABBITMQ_CONF_ENV_FILE", text("/dev/null".to_owned())),
        ("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", text(ERLANG_ARGUMENTS.to_owned())),
    ]
}

/// Whether a broker answers the greeting of AMQP with its own first frame.
fn accepts_clients(port: u16) -> io::Result<bool> {
    const METHOD_FRAME: u8 = 1;
    let mut stream = connect(port)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"AMQP\x00\x00\x09\x01")?;
    let mut frame = [0];
    stream.read_exact(&mut frame)?;
    Ok(frame == [METHOD_FRAME])
}

fn connect(port: u16) -> io::Result<TcpStream> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_secs(1))
}

/// As Erlang, its name service and the broker put it.
fn is_port_taken(error: &Error) -> bool {
    let Error::NotReady { log, .. } = error else {
        return false;
    };
    ["eaddrinuse", "in use by another", "Address already in use", "already a epmd running"]
        .iter()
        .any(|words| log.contains(words))
}
