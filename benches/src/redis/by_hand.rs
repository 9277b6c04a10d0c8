//! What a person would write by hand, as fast as the client lets them: one multiplexed connection, a claim by
//! `SET … NX PX … GET`, a completion by a scripted compare-and-set. No lease, no owner, no fingerprint.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context as _, bail};
use benches::{PREFIX, Receipt, TTL};
use idempotent_runtime::Token;
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, Cmd, IntoConnectionInfo as _, RedisWrite as _, Script, Value};
use servers::Redis;

use super::turns::Caller;

/// Whether commands leave at once, or wait for an acknowledgement on their way.
#[derive(Clone, Copy, Debug)]
pub(super) enum Nodelay {
    Off,
    On,
}

/// One connection, and the hash of the script.
#[derive(Clone)]
pub(super) struct ByHand {
    connection: Connection,
    script: String,
    namespace: &'static str,
}

/// The client's own, to one server or to a Cluster.
#[derive(Clone)]
enum Connection {
    One(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl Connection {
    async fn send(&self, command: &Cmd) -> redis::RedisResult<Value> {
        match self {
            Self::One(connection) => connection.clone().send_packed_command(command).await,
            Self::Cluster(connection) => connection.clone().req_packed_command(command).await,
        }
    }
}

/// Longer than the client's default: what else the machine does must not end a measurement.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

const COMPARE_AND_SET: &str = "
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  return 1
end
return 0";

impl ByHand {
    pub(super) async fn connect(url: &str, nodelay: Nodelay) -> anyhow::Result<Self> {
        let on = matches!(nodelay, Nodelay::On);
        let info = url.into_connection_info()?.set_tcp_settings(TcpSettings::default().set_nodelay(on));
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(RESPONSE_TIMEOUT));
        let client = Client::open(info)?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        let script = Script::new(COMPARE_AND_SET);
        script.prepare_invoke().load_async(&mut connection).await?;
        let namespace = if on { "hand" } else { "nagl" };
        Ok(Self { connection: Connection::One(connection), script: script.get_hash().to_owned(), namespace })
    }

    pub(super) async fn connect_to_cluster(nodes: &[Redis]) -> anyhow::Result<Self> {
        let nodes = nodes.iter().map(Redis::url);
        let tcp = TcpSettings::default().set_nodelay(true);
        let client = ClusterClientBuilder::new(nodes).tcp_settings(tcp).response_timeout(RESPONSE_TIMEOUT).build()?;
        let mut connection = client.get_async_connection().await?;
        let script = Script::new(COMPARE_AND_SET);
        script.prepare_invoke().load_async(&mut connection).await?;
        let script = script.get_hash().to_owned();
        Ok(Self { connection: Connection::Cluster(connection), script, namespace: "hand" })
    }

    /// Claims; gives what stands there where it is not ours.
    async fn claim(&self, order: u64, token: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let mut command = Cmd::with_capacity(7, 128);
        command.arg("SET");
        self.key(&mut command, order)?;
        write(&mut command, format_args!("p{token}"))?;
        command.arg("NX").arg("PX").arg(TTL.as_secs() * 1000).arg("GET");
        match self.connection.send(&command).await? {
            Value::Nil => Ok(None),
            Value::BulkString(record) => Ok(Some(record)),
            other => bail!("{other:?}"),
        }
    }

    async fn complete(&self, order: u64, token: &str, receipt: &Receipt) -> anyhow::Result<()> {
        let mut command = Cmd::with_capacity(7, 192);
        command.arg("EVALSHA").arg(&self.script).arg("1");
        self.key(&mut command, order)?;
        write(&mut command, format_args!("p{token}"))?;
        {
            let mut out = command.writer_for_next_arg();
            out.write_all(b"c")?;
            serde_json::to_writer(&mut out, receipt)?;
        }
        command.arg(TTL.as_secs() * 1000);
        match self.connection.send(&command).await? {
            Value::Int(1) => Ok(()),
            other => bail!("{other:?}"),
        }
    }

    fn key(&self, command: &mut Cmd, order: u64) -> std::io::Result<()> {
        write(command, format_args!("{}:{PREFIX}:{order}", self.namespace))
    }
}

impl Caller for ByHand {
    async fn call(&self, order: u64) -> anyhow::Result<Receipt> {
        let token = Token::random().text();
        let Some(record) = self.claim(order, token.as_str()).await? else {
            let receipt = Receipt::of(order);
            self.complete(order, token.as_str(), &receipt).await?;
            return Ok(receipt);
        };
        let receipt = record.strip_prefix(b"c").context("in progress")?;
        Ok(serde_json::from_slice(receipt)?)
    }
}

/// Writes one argument in place.
fn write(command: &mut Cmd, argument: std::fmt::Arguments<'_>) -> std::io::Result<()> {
    command.writer_for_next_arg().write_fmt(argument)
}
