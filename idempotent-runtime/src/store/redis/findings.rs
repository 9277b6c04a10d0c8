//! What about a server is dangerous to its records.

use std::fmt;
use std::time::{Duration, Instant};

use redis::Value;

use super::RedisStore;
use super::connection::Connections;
use super::error::Failure;
use crate::store::StoreError;

/// Something about a server that its records may suffer from; [`RedisStore::check`] finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// When its memory is full, the server throws records away: their duplicates run again.
    Evicts {
        /// Which server.
        server: String,
        /// Its `maxmemory-policy`.
        policy: String,
    },
    /// A restart may forget records: the server does not write each change down (`appendonly no`).
    NotPersistent {
        /// Which server.
        server: String,
    },
    /// Nobody has a copy of the records.
    NoReplica {
        /// Which server.
        server: String,
    },
    /// A question and its answer took long: each guarded call waits for two or three of them.
    Slow {
        /// Which server.
        server: String,
        /// How long it took.
        round_trip: Duration,
    },
}

/// How much a [`Finding`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Good to know, and often as it should be.
    Notice,
    /// Handlers will run twice.
    Serious,
}

/// A round trip that is worth a word.
const SLOW: Duration = Duration::from_millis(20);

impl Finding {
    /// How much it matters.
    ///
    /// ```
    /// use idempotent_runtime::store::{Finding, Severity};
    ///
    /// fn alarming(findings: &[Finding]) -> bool {
    ///     findings.iter().any(|finding| finding.severity() == Severity::Serious)
    /// }
    /// assert!(!alarming(&[]));
    /// ```
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::Evicts { .. } => Severity::Serious,
            Self::NotPersistent { .. } | Self::NoReplica { .. } | Self::Slow { .. } => Severity::Notice,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Evicts { .. } => "set maxmemory-policy to noeviction, and give caches a server of their own",
            Self::NotPersistent { .. } => "set appendonly to yes, unless every run may be repeated after a restart",
            Self::NoReplica { .. } => "add a replica and Sentinels, unless an outage may last until the server is back",
            Self::Slow { .. } => "bring the server nearer, or see what keeps it busy",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evicts { server, policy } => {
                write!(f, "{server} throws records away when its memory is full (maxmemory-policy {policy})")
            }
            Self::NotPersistent { server } => write!(f, "{server} may forget records when it restarts (appendonly no)"),
            Self::NoReplica { server } => write!(f, "{server} has no replica"),
            Self::Slow { server, round_trip } => write!(f, "{server} took {round_trip:?} to answer"),
        }
    }
}

impl RedisStore {
    /// Looks at every server that takes writes, for what its records may suffer from. Needs the permission to run
    /// `INFO`.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), idempotent_runtime::StoreError> {
    /// use idempotent_runtime::store::RedisStore;
    ///
    /// let store = RedisStore::connect("redis://127.0.0.1/").await?;
    /// for finding in store.check().await? {
    ///     println!("{finding}: {}", finding.advice());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Refused`](crate::store::StoreErrorKind::Refused) without that permission,
    /// [`Unavailable`](crate::store::StoreErrorKind::Unavailable) when a server cannot be reached.
    pub async fn check(&self) -> Result<Vec<Finding>, StoreError> {
        let mut findings = Vec::new();
        for server in self.connections.servers() {
            let asked = Instant::now();
            let mut question = redis::cmd("INFO");
            question.arg("memory").arg("persistence").arg("replication");
            let answer = server.send(&question).await.map_err(Failure::into_error)?;
            look(&server, &told(&answer), asked.elapsed(), &mut findings);
        }
        Ok(findings)
    }
}

fn look(server: &Connections, info: &str, round_trip: Duration, findings: &mut Vec<Finding>) {
    let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    let server = || server.place.to_string();
    // Without a limit to its memory a server evicts nothing.
    let limited = field("maxmemory").is_some_and(|limit| limit != "0");
    match field("maxmemory_policy") {
        Some(policy) if limited && policy != "noeviction" => {
            findings.push(Finding::Evicts { server: server(), policy: policy.to_owned() });
        }
        _ => {}
    }
    if field("aof_enabled") == Some("0") {
        findings.push(Finding::NotPersistent { server: server() });
    }
    if field("connected_slaves") == Some("0") {
        findings.push(Finding::NoReplica { server: server() });
    }
    if round_trip > SLOW {
        findings.push(Finding::Slow { server: server(), round_trip });
    }
}

/// The text of an answer to `INFO`.
fn told(answer: &Value) -> String {
    match answer {
        Value::BulkString(text) => String::from_utf8_lossy(text).into_owned(),
        Value::VerbatimString { text, .. } => text.clone(),
        _ => String::new(),
    }
}
