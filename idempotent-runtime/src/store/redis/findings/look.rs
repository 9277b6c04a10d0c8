//! A look at every server that takes writes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{Cmd, Value};

use super::Finding;
use crate::store::StoreError;
use crate::store::redis::RedisStore;
use crate::store::redis::connection::Connections;
use crate::store::redis::error::Failure;

/// A round trip that is worth a word.
const SLOW: Duration = Duration::from_millis(20);

/// What a server calls its last writes to disk.
const WRITES: [&str; 3] = ["rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status"];

impl RedisStore {
    /// Looks at every server that takes writes, for what its records may suffer from. Needs the permission to run
    /// `INFO`, and in a Cluster `CLUSTER INFO`.
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
        let replicas = self.replicas.map_or(0, |replicas| replicas.number);
        for server in self.connections.servers() {
            look_at(&server, replicas, &mut findings).await.map_err(Failure::into_error)?;
        }
        Ok(findings)
    }
}

/// `replicas` is how many each write is to reach.
async fn look_at(server: &Arc<Connections>, replicas: usize, findings: &mut Vec<Finding>) -> Result<(), Failure> {
    let name = server.place.to_string();
    let mut question = redis::cmd("INFO");
    question.arg("server").arg("memory").arg("persistence").arg("replication").arg("cluster");
    let told = Told::of(&server.send(&question).await?);
    told.judge(&name, replicas, findings);
    if told.field("cluster_enabled") == Some("1") {
        let mut question = redis::cmd("CLUSTER");
        question.arg("INFO");
        Told::of(&server.send(&question).await?).judge_cluster(&name, findings);
    }
    // The shortest question of all tells how long one takes.
    let asked = Instant::now();
    let answer = server.send(&time()).await?;
    let round_trip = asked.elapsed();
    server.last_look.judge(&name, &answer, round_trip, findings);
    if round_trip > SLOW {
        findings.push(Finding::Slow { server: name, round_trip });
    }
    Ok(())
}

fn time() -> Cmd {
    redis::cmd("TIME")
}

/// What a server tells of itself: a field and its value a line.
struct Told(String);

impl Told {
    fn of(answer: &Value) -> Self {
        Self(match answer {
            Value::BulkString(text) => String::from_utf8_lossy(text).into_owned(),
            Value::VerbatimString { text, .. } => text.clone(),
            _ => String::new(),
        })
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    }

    fn judge(&self, server: &str, replicas_asked: usize, findings: &mut Vec<Finding>) {
        let name = || server.to_owned();
        // Without a limit to its memory a server evicts nothing.
        let limited = self.field("maxmemory").is_some_and(|limit| limit != "0");
        match self.field("maxmemory_policy") {
            Some(policy) if limited && policy != "noeviction" => {
                findings.push(Finding::Evicts { server: name(), policy: policy.to_owned() });
            }
            _ => {}
        }
        if self.field("aof_enabled") == Some("0") {
            findings.push(Finding::NotPersistent { server: name() });
        }
        for what in WRITES.into_iter().filter(|what| self.field(what) == Some("err")) {
            findings.push(Finding::WriteFailed { server: name(), what });
        }
        let connected = self.field("connected_slaves").and_then(|count| count.parse().ok());
        match connected {
            Some(connected) if connected < replicas_asked => {
                findings.push(Finding::TooFewReplicas { server: name(), connected, asked: replicas_asked });
            }
            Some(0) => findings.push(Finding::NoReplica { server: name() }),
            _ => {}
        }
        if let Some(version) = self.without_field_expiry() {
            findings.push(Finding::NoFieldExpiry { server: name(), version });
        }
    }

    /// The version, where it is one that knows no `HPEXPIRE`.
    fn without_field_expiry(&self) -> Option<String> {
        let (product, version, first) = match self.field("valkey_version") {
            Some(version) => ("Valkey", version, (9, 0)),
            None => ("Redis", self.field("redis_version")?, (7, 4)),
        };
        let mut parts = version.split('.').map(str::parse);
        let number: (u32, u32) = (parts.next()?.ok()?, parts.next()?.ok()?);
        (number < first).then(|| format!("{product} {version}"))
    }

    fn judge_cluster(&self, server: &str, findings: &mut Vec<Finding>) {
        let number = |field| self.field(field).and_then(|number| number.parse().ok()).unwrap_or(0_u32);
        if self.field("cluster_state") != Some("ok") {
            let unserved = 16_384_u32.saturating_sub(number("cluster_slots_ok"));
            findings.push(Finding::ClusterDown { server: server.to_owned(), unserved });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(info: &str, replicas: usize) -> Vec<Finding> {
        let mut findings = Vec::new();
        Told(info.to_owned()).judge("one", replicas, &mut findings);
        findings
    }

    #[test]
    fn every_write_that_failed_is_told() {
        let failed = |what: &str| judged(&format!("{what}:err\r\n"), 0);
        for what in WRITES {
            assert_eq!(failed(what), [Finding::WriteFailed { server: "one".into(), what }]);
            assert_eq!(judged(&format!("{what}:ok\r\n"), 0), []);
        }
    }

    #[test]
    fn replicas_are_missed_only_as_far_as_they_were_asked_for() {
        let server = || "one".to_owned();
        let few = |connected, asked| Finding::TooFewReplicas { server: server(), connected, asked };
        assert_eq!(judged("connected_slaves:0\r\n", 0), [Finding::NoReplica { server: server() }]);
        assert_eq!(judged("connected_slaves:0\r\n", 1), [few(0, 1)]);
        assert_eq!(judged("connected_slaves:1\r\n", 2), [few(1, 2)]);
        assert_eq!(judged("connected_slaves:2\r\n", 2), []);
        assert_eq!(few(1, 2).severity(), crate::admin::Severity::Serious);
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        for (info, old) in [
            ("redis_version:7.0.15\r\n", true),
            ("redis_version:7.2.4\r\nvalkey_version:8.1.0\r\n", true),
            ("redis_version:7.2.4\r\nvalkey_version:9.0.0\r\n", false),
            ("redis_version:7.4.0\r\n", false),
            ("redis_version:10.0.0\r\n", false),
        ] {
            assert_eq!(!judged(info, 0).is_empty(), old, "{info}");
        }
    }
}
