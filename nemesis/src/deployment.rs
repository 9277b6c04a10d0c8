//! The servers of a run, whatever their arrangement.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use servers::{Cluster, Proxy, Reached, Redis, RedisBinary, Sentinels};

/// A failover of a Cluster takes up to eight seconds, on a quiet machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// Between two looks.
pub(crate) const POLL: Duration = Duration::from_millis(20);

/// How servers are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    One,
    Sentinel,
    Cluster,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::One, Self::Sentinel, Self::Cluster];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One => "one server",
            Self::Sentinel => "sentinel",
            Self::Cluster => "cluster",
        })
    }
}

/// Running servers, each behind a proxy, each with a disk: what they had acknowledged survives a kill.
pub(crate) enum Deployment {
    One { server: Redis, proxy: Proxy },
    Sentinel(Sentinels),
    Cluster(Cluster),
}

impl Deployment {
    pub(crate) fn start(kind: Kind) -> Result<Self> {
        let settings = Redis::builder(RedisBinary::System).persistent();
        Ok(match kind {
            Kind::One => {
                let server = settings.start()?;
                let proxy = Proxy::start(server.port())?;
                Self::One { server, proxy }
            }
            Kind::Sentinel => Self::Sentinel(Sentinels::start_reached(&settings, Reached::ThroughProxies, None)?),
            Kind::Cluster => {
                // For the dumps: a replica of a node that is gone is read before it takes over.
                let settings = settings.args(["--cluster-allow-reads-when-down", "yes"]);
                Self::Cluster(Cluster::start_reached(&settings, Reached::ThroughProxies)?)
            }
        })
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::One { server, proxy } => proxy.url(&server.url()),
            Self::Sentinel(sentinels) => sentinels.url(),
            Self::Cluster(cluster) => cluster.url(),
        }
    }

    pub(crate) fn servers(&self) -> &[Redis] {
        match self {
            Self::One { server, .. } => std::slice::from_ref(server),
            Self::Sentinel(sentinels) => sentinels.servers(),
            Self::Cluster(cluster) => cluster.nodes(),
        }
    }

    pub(crate) fn proxies(&self) -> &[Proxy] {
        match self {
            Self::One { proxy, .. } => std::slice::from_ref(proxy),
            Self::Sentinel(sentinels) => sentinels.proxies(),
            Self::Cluster(cluster) => cluster.proxies(),
        }
    }

    /// Servers that hold the same keys, by their places: one of them is in charge.
    pub(crate) fn shards(&self) -> Vec<Vec<usize>> {
        match self {
            Self::One { .. } => vec![vec![0]],
            Self::Sentinel(_) => vec![vec![0, 1, 2]],
            Self::Cluster(_) => (0..3).map(|at| vec![at, at + 3]).collect(),
        }
    }

    /// The place of the server that is in charge of a shard, if there is one now.
    pub(crate) fn primary(&self, shard: &[usize]) -> Option<usize> {
        match self {
            Self::One { .. } => Some(0),
            Self::Sentinel(sentinels) => {
                let port = sentinels.primary().ok()?.port();
                sentinels.servers().iter().position(|server| server.port() == port)
            }
            // The one with slots; an old one that is back may not know yet that it has none.
            Self::Cluster(cluster) => {
                let asked = cluster.nodes().iter().find(|node| is_in_charge(node) && answers_whole(node))?;
                let nodes = asked.cli(&["CLUSTER", "NODES"]).ok()?.to_string();
                shard.iter().copied().find(|at| {
                    let announced = format!("127.0.0.1:{}@", cluster.proxies()[*at].port());
                    let mut described = nodes.lines().filter(|line| line.contains(&announced));
                    described.any(|line| serves(line) && line.contains("master") && !line.contains("fail"))
                })
            }
        }
    }

    /// Waits until another server than this one is in charge of its shard.
    pub(crate) fn wait_until_replaced(&self, shard: &[usize], old: usize) -> Result<usize> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Its own word too: Sentinels name a replica before it is told.
            let new = self.primary(shard).filter(|new| *new != old && is_in_charge(&self.servers()[*new]));
            if let Some(new) = new {
                return Ok(new);
            }
            ensure!(Instant::now() < deadline, "no other server took over within {PATIENCE:?}");
            thread::sleep(POLL);
        }
    }

    /// Starts a server that was killed; one beside Sentinels is told whom to follow, as its file would tell it.
    pub(crate) fn restart(&self, at: usize) -> Result<()> {
        self.servers()[at].restart()?;
        if let Self::Sentinel(sentinels) = self {
            let primary = self.primary(&[0, 1, 2]).context("no Sentinel names a primary")?;
            if primary != at {
                let port = sentinels.proxies()[primary].port().to_string();
                let deadline = Instant::now() + PATIENCE;
                // It takes no order before it has read its disk.
                while let Err(error) = self.servers()[at].cli(&["REPLICAOF", "127.0.0.1", &port]) {
                    ensure!(Instant::now() < deadline, "a server does not follow: {error}");
                    thread::sleep(POLL);
                }
            }
        }
        Ok(())
    }

    /// Whether all servers are there, and replicas in step.
    pub(crate) fn wait_until_whole(&self) -> Result<()> {
        match self {
            Self::One { .. } => {}
            Self::Sentinel(sentinels) => {
                sentinels.wait_until_followed()?;
                sentinels.wait_until_complete()?;
            }
            Self::Cluster(cluster) => cluster.wait_until_whole()?,
        }
        Ok(())
    }
}

pub(crate) fn is_in_charge(server: &Redis) -> bool {
    server.pid().is_some()
        && server.cli(&["ROLE"]).is_ok_and(|role| role.list().first().and_then(servers::Reply::text) == Some("master"))
}

/// Whether a node of a Cluster sees all slots served.
fn answers_whole(node: &Redis) -> bool {
    node.cli(&["CLUSTER", "INFO"]).is_ok_and(|info| info.to_string().contains("cluster_state:ok"))
}

/// Whether a line of `CLUSTER NODES` ends with slots.
fn serves(line: &str) -> bool {
    line.split_whitespace().count() > 8
}
