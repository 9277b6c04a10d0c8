//! How a connection is made: login, a look at the server, and the scripts.

use std::sync::Arc;

use redis::{Cmd, RedisConnectionInfo, Value};

use super::connection::{Connection, Connections};
use super::error::Failure;
use super::scripts;
use super::wire::{Answer, Wire};
use crate::store::StoreError;

const NEEDS: &str = "idempotent needs Redis 7.0 or later, or Valkey 7.2 or later";

/// Opens one connection on the current runtime, to a server that takes writes.
pub(super) async fn open(connections: &Arc<Connections>) -> Result<Connection, StoreError> {
    let address = connections.place.address().await?;
    let connection = address.open(&connections.how, Arc::downgrade(connections)).await?;
    greet(&connection.0, &connections.how.login).await?;
    Ok(connection)
}

/// Logs in, looks at the server's version and role, and loads the scripts, in one round trip.
async fn greet(wire: &Wire, settings: &RedisConnectionInfo) -> Result<(), StoreError> {
    let hello = wire.send(&hello(settings));
    let select = (settings.db() != 0).then(|| wire.send(redis::cmd("SELECT").arg(settings.db())));
    let load = |script: &&scripts::Script| wire.send(redis::cmd("SCRIPT").arg("LOAD").arg(script.source()));
    let scripts: Vec<Answer<'_>> = scripts::ALL.iter().map(load).collect();
    check(&hello.await.map_err(refused_greeting)?)?;
    for answer in select.into_iter().chain(scripts) {
        answer.await.map_err(Failure::into_error)?;
    }
    Ok(())
}

/// Logs in, to ask whatever server it is.
pub(super) async fn login(wire: &Wire, settings: &RedisConnectionInfo) -> Result<(), StoreError> {
    wire.send(&hello(settings)).await.map_err(refused_greeting)?;
    Ok(())
}

/// `HELLO 3 [AUTH user password]`.
fn hello(settings: &RedisConnectionInfo) -> Cmd {
    let mut hello = redis::cmd("HELLO");
    hello.arg(3);
    if let Some(password) = settings.password() {
        hello.arg("AUTH").arg(settings.username().unwrap_or("default")).arg(password);
    }
    hello
}

fn refused_greeting(failure: Failure) -> StoreError {
    let error = failure.into_error();
    let said = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    if said.starts_with("ERR unknown command") {
        return StoreError::refused(format!("the server is older than Redis 6.0; {NEEDS}"));
    }
    // Here it does not pass by itself: the URL has no password, and the server wants one.
    if said.starts_with("NOAUTH") { StoreError::refused(said) } else { error }
}

fn check(hello: &Value) -> Result<(), StoreError> {
    let server = field(hello, "server").unwrap_or("unknown");
    let version = field(hello, "version").unwrap_or("unknown");
    let least = if server == "valkey" { (7, 2) } else { (7, 0) };
    if number(version).is_none_or(|version| version < least) {
        return Err(StoreError::refused(format!("the server is {server} {version}; {NEEDS}")));
    }
    match field(hello, "role") {
        Some("replica" | "slave") => Err(StoreError::unavailable("the server is a replica and takes no writes")),
        _ => Ok(()),
    }
}

/// A field of the map that `HELLO` answers.
fn field<'a>(hello: &'a Value, name: &str) -> Option<&'a str> {
    let Value::Map(fields) = hello else { return None };
    fields.iter().find(|(field, _)| text(field) == Some(name)).and_then(|(_, value)| text(value))
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// Major and minor of a version.
fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(server: &str, version: &str, role: &str) -> Value {
        let text = |text: &str| Value::BulkString(text.into());
        Value::Map(vec![(text("server"), text(server)), (text("version"), text(version)), (text("role"), text(role))])
    }

    #[test]
    fn old_servers_are_refused_and_new_ones_are_not() {
        for (server, version, good) in [
            ("redis", "7.0.0", true),
            ("redis", "10.0.1", true),
            ("redis", "6.2.14", false),
            ("valkey", "7.2.5", true),
            ("valkey", "9.1.0", true),
            ("valkey", "7.0.1", false),
            ("redis", "nonsense", false),
        ] {
            let answer = check(&hello(server, version, "master"));
            assert_eq!(answer.is_ok(), good, "{server} {version}");
        }
        let error = check(&hello("redis", "6.2.14", "master")).expect_err("too old").to_string();
        assert!(error.contains("redis 6.2.14") && error.contains("needs Redis 7.0"), "{error}");
    }

    #[test]
    fn a_replica_is_a_passing_trouble() {
        let error = check(&hello("redis", "7.2.0", "replica")).expect_err("takes no writes");
        assert_eq!(error.kind(), crate::store::StoreErrorKind::Unavailable);
    }
}
