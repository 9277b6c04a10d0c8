//! A primary with replicas, watched by Sentinels.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::process::{Process, Slot};
use crate::reached::{Reached, Started};
use crate::resp::Connection;
use crate::{Error, Program, Proxy, Redis, RedisBinary, RedisBuilder, port};

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
    /// One for each server, or none.
    proxies: Vec<Proxy>,
    reached: Reached,
    /// The port of each server that clients are told.
    told: Vec<u16>,
    // Ended before their folders are removed: fields are dropped in this order.
    watchers: Vec<Sentinel>,
}

#[derive(Debug)]
struct Sentinel {
    port: u16,
    /// The port that clients are told.
    told: u16,
    password: Option<String>,
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
        Self::start_reached(&Redis::builder(RedisBinary::System), Reached::Directly, None)
    }

    /// As [`start`](Self::start), with settings of your own for each server, and a password for the Sentinels.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_reached(settings: &RedisBuilder, reached: Reached, password: Option<&str>) -> Result<Self, Error> {
        // At once, so that all are in step when the tests begin.
        let settings = settings.clone().args(["--repl-diskless-sync-delay", "0"]);
        let (servers, proxies) = (Vec::new(), Vec::new());
        let mut all = Self { servers, proxies, reached, told: Vec::new(), watchers: Vec::new() };
        for _ in 0..3 {
            let Started { server, proxy, told } = all.reached.start(&settings, "--replica-announce-port")?;
            all.servers.push(server);
            all.proxies.extend(proxy);
            all.told.push(told);
        }
        let primary = all.told[0];
        // Not a setting: it would hold again after a restart, of a server that has become the primary meanwhile too.
        for replica in &all.servers[1..] {
            replica.cli(&["REPLICAOF", "127.0.0.1", &primary.to_string()])?;
        }
        for _ in 0..3 {
            all.watchers.push(Sentinel::start(primary, &all.reached, password)?);
        }
        all.wait_until_complete()?;
        Ok(all)
    }

    /// `redis+sentinel://127.0.0.1:PORT,127.0.0.1:PORT,127.0.0.1:PORT/orders`; over TLS `rediss+sentinel`.
    pub fn url(&self) -> String {
        let hosts: Vec<_> = self.watchers.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.told)).collect();
        let scheme = if let Reached::OverTls(_) = self.reached { "rediss" } else { "redis" };
        format!("{scheme}+sentinel://{}/{}", hosts.join(","), Self::NAME)
    }

    /// The server that the Sentinels name as the primary now.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] where they name none that was started here.
    pub fn primary(&self) -> Result<&Redis, Error> {
        let port = self.named()?;
        let at = self.told.iter().position(|told| Some(i64::from(*told)) == port);
        at.map(|at| &self.servers[at]).ok_or(Error::NotRunning)
    }

    /// The port that the first Sentinel names.
    fn named(&self) -> Result<Option<i64>, Error> {
        self.watchers.first().ok_or(Error::NotRunning)?.named()
    }

    /// The proxy in front of each server, in their order; none where there are none.
    pub fn proxies(&self) -> &[Proxy] {
        &self.proxies
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
        let before = self.named()?;
        self.watchers[0].ask(&["SENTINEL", "FAILOVER", Self::NAME])?;
        self.wait("no other primary was named", || {
            let named: Vec<_> = self.watchers.iter().map(Sentinel::named).collect::<Result<_, Error>>()?;
            Ok(named.iter().all(|port| *port == named[0] && *port != before))
        })
    }

    /// Kills one Sentinel; the others go on.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] where it was killed already.
    pub fn kill_sentinel(&self, at: usize) -> Result<(), Error> {
        self.watchers[at].process.kill()
    }

    /// Starts a Sentinel again that was killed: it remembers what it knew.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] where it does not start.
    pub fn restart_sentinel(&self, at: usize) -> Result<(), Error> {
        let sentinel = &self.watchers[at];
        let password = sentinel.password.as_deref();
        sentinel.process.replace(|| launch(&sentinel.program, &sentinel.folder, sentinel.port, password))
    }

    /// Waits until every Sentinel knows the primary, both replicas and the other Sentinels, and the replicas are in step.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] where that does not come about.
    pub fn wait_until_complete(&self) -> Result<(), Error> {
        self.wait("they did not all find each other", || {
            for sentinel in &self.watchers {
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
                let seen = self.watchers[0].ask(&["SENTINEL", "REPLICAS", Self::NAME]);
                let log = seen.map(|reply| reply.to_string()).unwrap_or_default();
                return Err(Error::NotReady { server: "redis-sentinel", reason: otherwise.to_owned(), log });
            }
            thread::sleep(POLL);
        }
        Ok(())
    }
}

impl Sentinel {
    fn start(primary: u16, reached: &Reached, password: Option<&str>) -> Result<Self, Error> {
        let program = Program::RedisSentinel.find()?;
        let folder =
            TempDir::with_prefix("idempotent-sentinel-").map_err(Error::while_doing("create a temporary folder"))?;
        let free = || port::free().map_err(Error::while_doing("find a free port"));
        let port = free()?;
        let told = if let Reached::OverTls(_) = reached { free()? } else { port };
        let (name, tls) = (Sentinels::NAME, reached.of_sentinel(told));
        // Each asks the others with the password that it wants itself.
        let wanted = password.map(|password| format!("requirepass {password}\n")).unwrap_or_default();
        let settings = format!(
            "port {port}\nbind 127.0.0.1\nprotected-mode no\ndir {}\n{tls}{wanted}\
             sentinel monitor {name} 127.0.0.1 {primary} 2\n\
             sentinel down-after-milliseconds {name} 1000\n\
             sentinel failover-timeout {name} 3000\n\
             sentinel parallel-syncs {name} 2\n",
            folder.path().display()
        );
        // It writes into this file what it finds out.
        fs::write(folder.path().join("sentinel.conf"), settings).map_err(Error::while_doing("write a file"))?;
        let password = password.map(str::to_owned);
        let process = Slot::new(launch(&program, &folder, port, password.as_deref())?);
        Ok(Self { port, told, password, process, program, folder })
    }

    /// The port of the primary, in its words.
    fn named(&self) -> Result<Option<i64>, Error> {
        let named = self.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", Sentinels::NAME])?;
        Ok(named.list().get(1).and_then(crate::Reply::integer))
    }

    fn ask(&self, question: &[&str]) -> Result<crate::Reply, Error> {
        Connection::open(self.port, self.password.as_deref())?.call(question)
    }
}

fn launch(program: &Path, folder: &TempDir, port: u16, password: Option<&str>) -> Result<Process, Error> {
    let mut process = Process::spawn("redis-sentinel", program, folder.path().join("log"), |command| {
        command.arg(folder.path().join("sentinel.conf"));
    })?;
    process.wait_until_ready(PATIENCE, |_| {
        Connection::open(port, password).and_then(|mut connection| connection.call(&["PING"])).is_ok()
    })?;
    Ok(process)
}

/// A field of the flat list in which a Sentinel describes a server.
fn field(described: &crate::Reply, name: &str) -> Option<String> {
    let pair = described.list().chunks_exact(2).find(|pair| pair[0].text() == Some(name))?;
    pair[1].text().map(str::to_owned)
}
