//! A Redis Cluster of six nodes.

use std::thread;
use std::time::{Duration, Instant};

use crate::reached::{Reached, Started};
use crate::{Error, Proxy, Redis, RedisBinary, RedisBuilder, Reply};

/// How long the nodes may take to find each other.
const PATIENCE: Duration = Duration::from_secs(30);

/// Between two looks.
const POLL: Duration = Duration::from_millis(20);

const PRIMARIES: usize = 3;

/// All hash slots are below.
const SLOTS: u16 = 16_384;

/// Three primaries and a replica for each, on free ports, ended when this is dropped.
///
/// A failover begins three seconds after a primary has gone, and takes another few.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Redis>,
    /// One for each node, or none.
    proxies: Vec<Proxy>,
    reached: Reached,
    /// The port of each node that clients are told.
    told: Vec<u16>,
}

impl Cluster {
    /// Starts six nodes, makes a Cluster of them, and waits until every node says that it is whole.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] where the server is not installed; [`Error::NotReady`] where the nodes do not come together.
    pub fn start(binary: RedisBinary) -> Result<Self, Error> {
        Self::start_reached(&Redis::builder(binary), Reached::Directly)
    }

    /// As [`start`](Self::start), with settings of your own for each node.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_reached(settings: &RedisBuilder, reached: Reached) -> Result<Self, Error> {
        let cluster =
            [["--cluster-enabled", "yes"], ["--cluster-node-timeout", "3000"], ["--repl-diskless-sync-delay", "0"]];
        let mut settings = settings.clone().args(cluster.concat());
        if let Reached::OverTls(_) = reached {
            settings = settings.args(["--tls-cluster", "yes"]);
        }
        let mut cluster = Self { nodes: Vec::new(), proxies: Vec::new(), reached, told: Vec::new() };
        for _ in 0..2 * PRIMARIES {
            let Started { server, proxy, told } = cluster.reached.start(&settings, "--cluster-announce-port")?;
            cluster.nodes.push(server);
            cluster.proxies.extend(proxy);
            cluster.told.push(told);
        }
        cluster.create()?;
        Ok(cluster)
    }

    /// What `redis-cli --cluster create` does.
    fn create(&self) -> Result<(), Error> {
        let (primaries, replicas) = self.nodes.split_at(PRIMARIES);
        for (at, primary) in primaries.iter().enumerate() {
            let share = usize::from(SLOTS).div_ceil(PRIMARIES);
            let (first, last) = (at * share, ((at + 1) * share).min(SLOTS.into()) - 1);
            primary.cli(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()])?;
            primary.cli(&["CLUSTER", "SET-CONFIG-EPOCH", &(at + 1).to_string()])?;
        }
        for node in &self.nodes[1..] {
            // From which the port of the bus is counted; what clients are told is told on the bus.
            let port = self.port_among_nodes(node).to_string();
            self.nodes[0].cli(&["CLUSTER", "MEET", "127.0.0.1", &port])?;
        }
        self.wait("they did not meet", |node| Ok(info(node, "cluster_known_nodes")? == self.nodes.len().to_string()))?;
        for (primary, replica) in primaries.iter().zip(replicas) {
            replica.cli(&["CLUSTER", "REPLICATE", &id(primary)?])?;
        }
        self.wait_until_whole()
    }

    /// The port at which other nodes reach one.
    fn port_among_nodes(&self, node: &Redis) -> u16 {
        let told = self.nodes.iter().zip(&self.told).find(|(other, _)| other.port() == node.port());
        match (&self.reached, told) {
            (Reached::OverTls(_), Some((_, told))) => *told,
            _ => node.port(),
        }
    }

    /// `redis+cluster://127.0.0.1:PORT,127.0.0.1:PORT,127.0.0.1:PORT`, with the first three nodes; over TLS
    /// `rediss+cluster`.
    pub fn url(&self) -> String {
        let seeds = self.told.iter().take(PRIMARIES).map(|port| format!("127.0.0.1:{port}"));
        let scheme = if let Reached::OverTls(_) = self.reached { "rediss" } else { "redis" };
        format!("{scheme}+cluster://{}", seeds.collect::<Vec<_>>().join(","))
    }

    /// Every node, the first primaries first and then a replica of each.
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// The proxy in front of each node, in their order; none where there are none.
    pub fn proxies(&self) -> &[Proxy] {
        &self.proxies
    }

    /// The slot of a key, which is that of its hash tag where it has one.
    pub fn slot(key: &str) -> u16 {
        let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
        let hashed = tag.filter(|tag| !tag.is_empty()).unwrap_or(key);
        // CRC-16/XMODEM, bit by bit.
        let sum = hashed.bytes().fold(0_u16, |sum, byte| {
            (0..8).fold(sum ^ u16::from(byte) << 8, |sum, _| sum << 1 ^ if sum & 0x8000 == 0 { 0 } else { 0x1021 })
        });
        sum % SLOTS
    }

    /// The node that serves a slot, as the first node that answers sees it.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] where none does.
    pub fn primary_of(&self, slot: u16) -> Result<&Redis, Error> {
        let ranges = self.ask_any(&["CLUSTER", "SLOTS"])?;
        let holds = |range: &&Reply| {
            let bound = |at: usize| range.list().get(at).and_then(Reply::integer).unwrap_or(-1);
            (bound(0)..=bound(1)).contains(&i64::from(slot))
        };
        let node = ranges.list().iter().find(holds).and_then(|range| range.list().get(2));
        let port = node.and_then(|node| node.list().get(1)).and_then(Reply::integer);
        // Who asks without TLS is told the plain port.
        let is_it = |told: &u16, node: &Redis| [*told, node.port()].into_iter().any(|own| Some(i64::from(own)) == port);
        let found = self.nodes.iter().zip(&self.told).find(|(node, told)| is_it(told, node));
        found.map(|(node, _)| node).ok_or(Error::NotRunning)
    }

    /// Gives one command about a key to the node that serves it.
    ///
    /// # Errors
    ///
    /// As [`Redis::cli`].
    pub fn cli_for<A: AsRef<[u8]>>(&self, key: &str, arguments: &[A]) -> Result<Reply, Error> {
        self.primary_of(Self::slot(key))?.cli(arguments)
    }

    /// Begins to move a slot: keys that are not there any more are asked for at the other node.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] where a node does not play its part.
    pub fn begin_migration(&self, slot: u16, from: &Redis, to: &Redis) -> Result<(), Error> {
        let slot = slot.to_string();
        to.cli(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(from)?])?;
        from.cli(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(to)?])?;
        Ok(())
    }

    /// Moves the keys of a slot, and then the slot itself.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] where a node does not play its part.
    pub fn end_migration(&self, slot: u16, from: &Redis, to: &Redis) -> Result<(), Error> {
        let (number, port) = (slot.to_string(), self.port_among_nodes(to).to_string());
        loop {
            let keys = from.cli(&["CLUSTER", "GETKEYSINSLOT", &number, "100"])?;
            if keys.list().is_empty() {
                break;
            }
            for key in keys.list().iter().filter_map(Reply::text) {
                from.cli(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"])?;
            }
        }
        let owner = id(to)?;
        // The new owner first: nobody else may claim the slot in between.
        to.cli(&["CLUSTER", "SETSLOT", &number, "NODE", &owner])?;
        from.cli(&["CLUSTER", "SETSLOT", &number, "NODE", &owner])?;
        Ok(())
    }

    /// Waits until every running node says that all slots are served and knows all nodes as sound, and each replica is
    /// in step.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] where that does not come about.
    pub fn wait_until_whole(&self) -> Result<(), Error> {
        self.wait("it did not become whole", |node| {
            let nodes = node.cli(&["CLUSTER", "NODES"])?.to_string();
            let replication = node.cli(&["INFO", "replication"])?.to_string();
            let primaries = nodes.lines().filter(|line| line.contains("master")).count();
            Ok(info(node, "cluster_state")? == "ok"
                && !nodes.contains("fail")
                && !nodes.contains("handshake")
                && primaries == PRIMARIES
                && !replication.contains("master_link_status:down"))
        })
    }

    fn wait(&self, otherwise: &str, holds: impl Fn(&Redis) -> Result<bool, Error>) -> Result<(), Error> {
        let deadline = Instant::now() + PATIENCE;
        for node in self.nodes.iter().filter(|node| node.pid().is_some()) {
            loop {
                match holds(node) {
                    Ok(true) => break,
                    // One that has been restarted reads its disk first.
                    Ok(false) | Err(Error::Refused(_)) => {}
                    Err(error) => return Err(error),
                }
                if Instant::now() > deadline {
                    let log =
                        node.cli(&["CLUSTER", "NODES"]).map_or_else(|error| error.to_string(), |log| log.to_string());
                    return Err(Error::NotReady { server: "the Cluster", reason: otherwise.to_owned(), log });
                }
                thread::sleep(POLL);
            }
        }
        Ok(())
    }

    fn ask_any(&self, question: &[&str]) -> Result<Reply, Error> {
        let mut last = Error::NotRunning;
        for node in self.nodes.iter().filter(|node| node.pid().is_some()) {
            match node.cli(question) {
                Ok(answer) => return Ok(answer),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// The name of a node.
fn id(node: &Redis) -> Result<String, Error> {
    Ok(node.cli(&["CLUSTER", "MYID"])?.to_string())
}

fn info(node: &Redis, field: &str) -> Result<String, Error> {
    let info = node.cli(&["CLUSTER", "INFO"])?.to_string();
    let value = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(value.unwrap_or_default().trim().to_owned())
}
