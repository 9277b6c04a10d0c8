//! What the operations send their commands through: one server, or the node that has the key.

use std::fmt;
use std::sync::Arc;

use redis::{Cmd, Value};

use super::cluster::Cluster;
use super::connection::Connections;
use super::error::Failure;

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
            Err(failure) => Box::pin(cluster.follow(command, node, failure)).await,
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
