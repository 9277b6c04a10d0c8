//! How a connection is made: TCP, login, a look at the server, and the scripts.

use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ErrorKind, ProtocolVersion, RedisError, Value};
use tokio::net::TcpStream;

use super::connection::{Connection, Connections};
use super::driver::Driver;
use super::error::{Failure, Told};
use super::scripts;
use super::stream::{Gathering, Pulse};
use super::url;
use crate::store::StoreError;

/// Commands that wait for the driver, and bytes that it gathers before it writes: with the stream's own gathering,
/// larger buffers only delay.
const BUFFER: usize = 1024;

const NEEDS: &str = "idempotent needs Redis 7.0 or later, or Valkey 7.2 or later";

/// Opens one connection on the current runtime.
pub(super) async fn open(connections: &Arc<Connections>) -> Result<Connection, StoreError> {
    let stream = TcpStream::connect(url::tcp(&connections.client)?).await.map_err(StoreError::unavailable)?;
    stream.set_nodelay(true).map_err(StoreError::unavailable)?;
    let pulse = Arc::new(Pulse::default());
    let settings = connections.client.get_connection_info().redis_settings().clone();
    // The client's own timer would run once per command; the driver's runs once per connection.
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(None)
        .set_pipeline_buffer_size(BUFFER)
        .set_write_backpressure_boundary(BUFFER);
    let (client, driver) = MultiplexedConnection::new_with_config(
        &settings.set_protocol(ProtocolVersion::RESP3),
        Gathering::new(stream, Arc::clone(&pulse)),
        config,
    )
    .await
    .map_err(refused_login)?;
    let response_timeout = connections.timeouts.response;
    tokio::spawn(Driver::new(driver, response_timeout, Arc::downgrade(connections), Arc::clone(&pulse)));
    look_and_load(client.clone()).await?;
    Ok(Connection { client, pulse, response_timeout })
}

fn refused_login(error: RedisError) -> StoreError {
    match error.kind() {
        ErrorKind::RESP3NotSupported => StoreError::refused(format!("the server is older than Redis 6.0; {NEEDS}")),
        _ => match error.code() {
            // Here it does not pass by itself: the URL has no password, and the server wants one.
            Some("NOAUTH") => StoreError::refused(Told(error)),
            _ => Failure::of(error).into_error(),
        },
    }
}

/// Looks at the server's version and role, and loads the scripts, in one round trip.
async fn look_and_load(mut client: MultiplexedConnection) -> Result<(), StoreError> {
    let mut pipeline = redis::pipe();
    pipeline.cmd("HELLO");
    for script in scripts::ALL {
        pipeline.cmd("SCRIPT").arg("LOAD").arg(script.source());
    }
    let answers = client.send_packed_commands(&pipeline, 0, pipeline.len()).await;
    let answers = answers.map_err(|error| Failure::of(error).into_error())?;
    let mut answers = answers.into_iter().map(|answer| answer.extract_error().map_err(|e| Failure::of(e).into_error()));
    let hello = answers.next().unwrap_or(Ok(Value::Nil))?;
    check(&hello)?;
    answers.try_for_each(|answer| answer.map(drop))
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
