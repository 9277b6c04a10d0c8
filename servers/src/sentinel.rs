//! A primary with replicas, watched by Sentinels.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::process::{Process, Slot};
use crate::resp::Connection;
use crate::{Error, Program, Redis, RedisBinary, port};

/// How long all of them together may take to find each other.
const PATIENCE: Duration = Duration::from_mins(1);

/// Between two looks.
const POLL: Duration = Duration::from_millis(20);

/// One primary, two replicas and three Sentinels, on free ports, ended when this is dropped.
///
/// A failover begins one second after the primary has gone, and takes a second or two.
#[derive(Debug)]
pub struct Sentinels {
    servers: Vec<Redis>,
    // Ended before their folders are removed: fields are dropped in this order.
    sentinels: Vec<Sentinel>,
}

#[derive(Debug)]
struct Sentinel {
    port: u16,
    process: Slot,
    program: PathBuf,
    folder: TempDir,
}

impl Sentinels {
    /// The name by which the Sentinels know the primary.
    pub const NAME: &str = "orders";

    /// Starts them all, and waits until every Sentinel knows the others and both replicas.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] where Redis or its Sentinel is not installed; [`Error::NotReady`] where they do not find each
    /// other.
    pub fn start() -> Result<Self, Error> {
        let primary = Redis::start(RedisBinary::System)?;
        let replica = || {
            let of = primary.port().to_string();
            // At once, so that all are in step when the tests begin.
            let quickly = ["--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1", &of];
            Redis::builder(RedisBinary::System).args(quickly).start()
        };
        primary.cli(&["CONFIG", "SET", "repl-diskless-sync-delay", "0"])?;
        let replicas = [replica()?, replica()?];
        let sentinels = (0..3).map(|_| Sentinel::start(primary.port())).collect::<Result<_, _>>()?;
        let all = Self { servers: [primary].into_iter().chain(replicas).collect(), sentinels };
        all.wait_until_complete()?;
        Ok(all)
    }

    /// `redis+sentinel://127.0.0.1:PORT,127.0.0.1:PORT,127.0.0.1:PORT/orders`.
    pub fn url(&self) -> String {
        let hosts: Vec<_> = self.sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port)).collect();
        format!("redis+sentinel://{}/{}", hosts.join(","), Self::NAME)
    }

    /// The server that the Sentinels name as the primary now.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] where they name none that was started here.
    pub fn primary(&self) -> Result<&Redis, Error> {
        let sentinel = self.sentinels.first().ok_or(Error::NotRunning)?;
        let named = sentinel.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", Self::NAME])?;
        let port = named.list().get(1).and_then(crate::Reply::integer);
        self.servers.iter().find(|server| Some(i64::from(server.port())) == port).ok_or(Error::NotRunning)
    }

    /// Every server, the first primary first.
    pub fn servers(&self) -> &[Redis] {
        &self.servers
    }

    /// Asks for a failover although nothing is wrong, and waits until all Sentinels name another primary.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] where the Sentinels see no replica that could take over.
    pub fn fail_over(&self) -> Result<(), Error> {
        let before = self.primary()?.port();
        self.sentinels[0].ask(&["SENTINEL", "FAILOVER", Self::NAME])?;
        self.wait("no other primary was named", || {
            let named = |sentinel: &Sentinel| {
                let named = sentinel.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", Self::NAME])?;
                Ok(named.list().get(1).and_then(crate::Reply::integer))
            };
            let named: Vec<_> = self.sentinels.iter().map(named).collect::<Result<_, Error>>()?;
            Ok(named.iter().all(|port| *port == named[0] && *port != Some(i64::from(before))))
        })
    }

    /// Kills one Sentinel; the others go on.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] where it was killed already.
    pub fn kill_sentinel(&self, at: usize) -> Result<(), Error> {
        self.sentinels[at].process.kill()
    }

    /// Starts a Sentinel again that was killed: it remembers what it knew.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] where it does not start.
    pub fn restart_sentinel(&self, at: usize) -> Result<(), Error> {
        let sentinel = &self.sentinels[at];
        sentinel.process.replace(|| launch(&sentinel.program, &sentinel.folder, sentinel.port))
    }

    /// Waits until every Sentinel knows the primary, both replicas and the other Sentinels, and the replicas are in step.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] where that does not come about.
    pub fn wait_until_complete(&self) -> Result<(), Error> {
        self.wait("they did not all find each other", || {
            for sentinel in &self.sentinels {
                let replicas = sentinel.ask(&["SENTINEL", "REPLICAS", Self::NAME])?;
                let sound = |replica: &crate::Reply| {
                    field(replica, "flags").as_deref() == Some("slave")
                        && field(replica, "master-link-status").as_deref() == Some("ok")
                };
                let others = sentinel.ask(&["SENTINEL", "SENTINELS", Self::NAME])?;
                if replicas.list().len() != 2 || !replicas.list().iter().all(sound) || others.list().len() != 2 {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// Waits until both other servers follow the primary and are in step.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] where that does not come about.
    pub fn wait_until_followed(&self) -> Result<(), Error> {
        self.wait("the replicas do not follow the primary", || {
            let Ok(primary) = self.primary() else { return Ok(false) };
            let Ok(replication) = primary.cli(&["INFO", "replication"]) else { return Ok(false) };
            Ok(replication.to_string().matches("state=online").count() == 2)
        })
    }

    fn wait(&self, otherwise: &str, mut done: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
        let deadline = Instant::now() + PATIENCE;
        while !done()? {
            if Instant::now() > deadline {
                let seen = self.sentinels[0].ask(&["SENTINEL", "REPLICAS", Self::NAME]);
                let log = seen.map(|reply| reply.to_string()).unwrap_or_default();
                return Err(Error::NotReady { server: "redis-sentinel", reason: otherwise.to_owned(), log });
            }
            thread::sleep(POLL);
        }
        Ok(())
    }
}

impl Sentinel {
    fn start(primary: u16) -> Result<Self, Error> {
        let program = Program::RedisSentinel.find()?;
        let folder =
            TempDir::with_prefix("idempotent-sentinel-").map_err(Error::while_doing("create a temporary folder"))?;
        let port = port::free().map_err(Error::while_doing("find a free port"))?;
        let name = Sentinels::NAME;
        let settings = format!(
            "port {port}\nbind 127.0.0.1\nprotected-mode no\ndir {}\n\
             sentinel monitor {name} 127.0.0.1 {primary} 2\n\
             sentinel down-after-milliseconds {name} 1000\n\
             sentinel failover-timeout {name} 3000\n\
             sentinel parallel-syncs {name} 2\n",
            folder.path().display()
        );
        // It writes into this file what it finds out.
        fs::write(folder.path().join("sentinel.conf"), settings).map_err(Error::while_doing("write a file"))?;
        let process = Slot::new(launch(&program, &folder, port)?);
        Ok(Self { port, process, program, folder })
    }

    fn ask(&self, question: &[&str]) -> Result<crate::Reply, Error> {
        Connection::open(self.port, None)?.call(question)
    }
}

fn launch(program: &Path, folder: &TempDir, port: u16) -> Result<Process, Error> {
    let mut process = Process::spawn("redis-sentinel", program, folder.path().join("log"), |command| {
        command.arg(folder.path().join("sentinel.conf"));
    })?;
    process.wait_until_ready(PATIENCE, |_| {
        Connection::open(port, None).and_then(|mut connection| connection.call(&["PING"])).is_ok()
    })?;
    Ok(process)
}

/// A field of the flat list in which a Sentinel describes a server.
fn field(described: &crate::Reply, name: &str) -> Option<String> {
    let pair = described.list().chunks_exact(2).find(|pair| pair[0].text() == Some(name))?;
    pair[1].text().map(str::to_owned)
}
