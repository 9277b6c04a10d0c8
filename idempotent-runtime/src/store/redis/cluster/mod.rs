//! A Cluster: the key's slot chooses the node, and whatever a node says about that is followed.
//!
//! A node is a table of connections as for a single server. What is more is here: the map of slots, and what to do when
//! it is wrong.
//!
//! - `MOVED`: the map is corrected, the command goes to the other node, and the whole map is read anew in the background.
//! - `ASK`: this command alone goes to the other node, behind `ASKING`.
//! - A node that is gone, silent, demoted, or says `CLUSTERDOWN`: the caller is told that the store is unavailable and
//!   repeats under its token, as with a single server. In the background the map is read again and again until another
//!   node serves the slots or the patience is at its end; the next failure starts over.

mod map;
mod slot;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::runtime::Handle;
use tokio::time::Instant;

use self::map::{Map, Ranges};
pub(super) use self::slot::Slot;
use super::address::{Address, How};
use super::connection::{Connections, Place};
use super::error::{Failure, NotConnected, Redirect};
use super::{inquiry, scripts};
use crate::store::{StoreError, StoreErrorKind};

/// How often one command is sent elsewhere before something must be wrong.
const HOPS: usize = 5;

/// Nodes that are asked for the map at once.
const ASKED: usize = 3;

/// How long the map is read again after a failure, and how often.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(200);

/// All nodes of a Cluster, as far as they are known.
pub(super) struct Cluster {
    seeds: Vec<Address>,
    pub(super) how: Arc<How>,
    map: RwLock<Map>,
    /// Somebody is reading the map.
    looking: AtomicBool,
    /// Whose turn it is to be asked.
    turn: AtomicUsize,
}

/// How a command is sent.
#[derive(Clone, Copy)]
enum Manner {
    Plain,
    /// To a node that is about to get the slot.
    Asking,
}

impl Cluster {
    /// Reads the map for the first time.
    pub(super) async fn connect(seeds: Vec<Address>, how: Arc<How>) -> Result<Arc<Self>, StoreError> {
        let (looking, turn) = (AtomicBool::new(false), AtomicUsize::new(0));
        let cluster = Arc::new(Self { seeds, how, map: RwLock::default(), looking, turn });
        let not_connected = |error| NotConnected::new(cluster.to_string().into(), error).into_error();
        cluster.look(None).await.map_err(not_connected)?;
        // Each node once, so that a password or a version that one of them refuses is known at once.
        let refused = |error: &StoreError| error.kind() == StoreErrorKind::Refused;
        for node in cluster.nodes() {
            node.connection().await.map(drop).or_else(|error| if refused(&error) { Err(error) } else { Ok(()) })?;
        }
        Ok(cluster)
    }

    /// The nodes that serve slots.
    pub(super) fn nodes(&self) -> Vec<Arc<Connections>> {
        self.read(Map::primaries)
    }

    /// The node for a command.
    pub(super) fn node(self: &Arc<Self>, command: &Cmd) -> Result<Arc<Connections>, StoreError> {
        let slot = Slot::of(command).ok_or_else(|| StoreError::refused("a command without a key has no node"))?;
        self.read(|map| map.node(slot)).ok_or_else(|| {
            self.look_in_the_background(None);
            StoreError::unavailable(format!("no node of the Cluster serves slot {slot}"))
        })
    }

    /// Goes on where a node did not answer a command as a single server would.
    pub(super) async fn follow(
        self: &Arc<Self>,
        command: &Cmd,
        mut node: Arc<Connections>,
        mut failure: Failure,
    ) -> Result<Value, Failure> {
        let mut manner = Manner::Plain;
        for _ in 0..HOPS {
            match failure {
                Failure::Moved(to) => {
                    node = self.moved(&node, &to);
                    manner = Manner::Plain;
                }
                Failure::Ask(to) => {
                    node = self.at(&node, &to);
                    manner = Manner::Asking;
                }
                Failure::NoScript => load(&node).await?,
                Failure::Store { ref error, .. } if error.kind() == StoreErrorKind::Unavailable => {
                    self.look_in_the_background(Some(Arc::clone(&node)));
                    return Err(failure);
                }
                other => return Err(other),
            }
            let answer = match manner {
                Manner::Plain => node.send(command).await,
                Manner::Asking => node.send_behind(&redis::cmd("ASKING"), command).await,
            };
            match answer {
                Ok(value) => return Ok(value),
                Err(next) => failure = next,
            }
        }
        Err(StoreError::unavailable("the nodes of the Cluster do not agree on who serves the key").into())
    }

    /// Corrects the map in one slot.
    fn moved(self: &Arc<Self>, from: &Connections, to: &Redirect) -> Arc<Connections> {
        let node = self.at(from, to);
        self.write(|map| map.correct(to.slot, &node));
        self.look_in_the_background(None);
        node
    }

    /// The node that another names.
    fn at(&self, from: &Connections, to: &Redirect) -> Arc<Connections> {
        let address = match &from.place {
            Place::Fixed(address) => address.beside(to.host.clone(), to.port),
            Place::Sentinel(_) => Address::Tcp { host: to.host.clone(), port: to.port },
        };
        self.write(|map| map.meet(address, &self.how))
    }

    /// Reads the map in the background, once for all who ask for it; again and again while `suspect` serves a slot.
    fn look_in_the_background(self: &Arc<Self>, suspect: Option<Arc<Connections>>) {
        let Ok(runtime) = Handle::try_current() else { return };
        if self.looking.swap(true, Ordering::AcqRel) {
            return;
        }
        let looking = Looking(Arc::clone(self));
        runtime.spawn(async move {
            let cluster = &looking.0;
            let until = Instant::now() + PATIENCE;
            loop {
                let looked = cluster.look(suspect.as_deref()).await;
                let still_there = || suspect.as_ref().is_some_and(|node| cluster.read(|map| map.serves(node)));
                if (looked.is_ok() && !still_there()) || Instant::now() >= until {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
    }

    /// Reads the map from some of the nodes, but not from one that is suspected to be gone.
    async fn look(&self, suspect: Option<&Connections>) -> Result<(), StoreError> {
        let mut nodes = self.read(|map| map.addresses(&self.seeds));
        nodes.retain(|node| suspect.is_none_or(|suspect| !suspect.place.is(node)));
        let turn = self.turn.fetch_add(ASKED, Ordering::Relaxed);
        if !nodes.is_empty() {
            let first = turn % nodes.len();
            nodes.rotate_left(first);
        }
        nodes.truncate(ASKED);
        let mut question = redis::cmd("CLUSTER");
        question.arg("SLOTS");
        let ranges = inquiry::first(&nodes, &self.how, &question, Ranges::read).await?;
        self.write(|map| map.replace(ranges, &self.how));
        Ok(())
    }

    fn read<T>(&self, look: impl FnOnce(&Map) -> T) -> T {
        look(&self.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Map) -> T) -> T {
        change(&mut self.map.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Loads all scripts, which the node has lost.
async fn load(node: &Arc<Connections>) -> Result<(), Failure> {
    for script in scripts::ALL {
        let mut load = redis::cmd("SCRIPT");
        load.arg("LOAD").arg(script.source());
        node.send(&load).await?;
    }
    Ok(())
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the Cluster of ")?;
        for (at, seed) in self.seeds.iter().enumerate() {
            write!(f, "{}{seed}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// Lets the next one read the map, also when the runtime of this one ends first.
struct Looking(Arc<Cluster>);

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.looking.store(false, Ordering::Release);
    }
}
