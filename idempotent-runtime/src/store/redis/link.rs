//! What the operations send their commands through: one server, or the node that has the key.

use std::fmt;
use std::sync::Arc;

use redis::{Cmd, Value};

use super::channel::Spread;
use super::cluster::Cluster;
use super::connection::Connections;
use super::error::Failure;
use super::replicas::{Copied, Replicas};
use crate::key::Key;
use crate::store::Watch;

/// Where commands go.
#[derive(Clone)]
pub(super) enum Link {
    /// One server, or the primary that Sentinels name.
    One(Arc<Connections>),
    Cluster(Arc<Cluster>),
}

impl Link {
    /// Sends one command, about one key.
    pub(super) async fn send(&self, command: &Cmd) -> Result<Value, Failure> {
        let cluster = match self {
            Self::One(connections) => return connections.send(command).await,
            Self::Cluster(cluster) => cluster,
        };
        let node = cluster.node(command)?;
        match node.send(command).await {
            Ok(answer) => Ok(answer),
            Err(failure) => Ok(Box::pin(cluster.follow(command, None, node, failure)).await?.0),
        }
    }

    /// Sends one write about one key, which is to be copied to the replicas of its server.
    pub(super) async fn send_copied(&self, command: &Cmd, replicas: Replicas) -> Result<(Value, Copied), Failure> {
        let cluster = match self {
            Self::One(connections) => return connections.send_copied(None, command, replicas).await,
            Self::Cluster(cluster) => cluster,
        };
        let node = cluster.node(command)?;
        match node.send_copied(None, command, replicas).await {
            Ok(answer) => Ok(answer),
            Err(failure) => cluster.follow(command, Some(replicas), node, failure).await,
        }
    }

    /// Watches for the end of a run, where the key's server is.
    pub(super) fn watch(&self, key: &Key) -> Watch {
        let server = match self {
            Self::One(connections) => Some(Arc::clone(connections)),
            Self::Cluster(cluster) => cluster.node_of(key.entity().as_bytes()),
        };
        let spread = self.spread();
        match server.zip(spread.channel(key)) {
            Some((server, channel)) => server.watch(spread, &channel),
            None => Watch::never(),
        }
    }

    /// How far the end of a run is told.
    pub(super) fn spread(&self) -> Spread {
        match self {
            Self::One(_) => Spread::Server,
            Self::Cluster(_) => Spread::Shard,
        }
    }

    /// The servers that take writes.
    pub(super) fn servers(&self) -> Vec<Arc<Connections>> {
        match self {
            Self::One(connections) => vec![Arc::clone(connections)],
            Self::Cluster(cluster) => cluster.nodes(),
        }
    }

    /// The number of the database.
    pub(super) fn database(&self) -> i64 {
        match self {
            Self::One(connections) => connections.how.login.db(),
            Self::Cluster(_) => 0,
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(connections) => connections.place.fmt(f),
            Self::Cluster(cluster) => cluster.fmt(f),
        }
    }
}
