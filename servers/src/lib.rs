//! Real servers, started by the tests, the examples and the benchmarks.
//!
//! Mocks hide wrong options, so what talks to a server is tested on one. Each value here is one
//! server (or one [`Proxy`] in front of a server) of its own: on a free loopback port, in a
//! temporary folder, ended by its process id when the value is dropped. A test can also stop, kill
//! and restart it.
//!
//! ```
//! use servers::{Redis, RedisBinary};
//!
//! # fn main() -> Result<(), servers::Error> {
//! let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else {
//!     return Ok(()); // not installed: this has told the user so
//! };
//! redis.cli(&["SET", "order:1", "paid"])?;
//! assert_eq!(redis.cli(&["GET", "order:1"])?.text(), Some("paid"));
//!
//! redis.kill()?;
//! redis.restart()?; // on the same port, and empty
//! assert_eq!(redis.cli(&["GET", "order:1"])?.text(), None);
//! # Ok(())
//! # }
//! ```
//!
//! **Blocking.** Every call blocks: start a server before the runtime, or in `spawn_blocking`.
//!
//! **Nothing is left behind.** Dropping a value ends its server and removes its folder. A process
//! that is killed drops nothing: where util-linux's `setpriv` is installed (any Linux) the operating
//! system ends the servers of a process that has gone, and their folders stay; elsewhere the servers
//! stay too. The same goes for what is in a `static`, which is never dropped.
//!
//! **What is missing.** `cargo xtask setup` installs the servers. Where one is missing, [`needed`]
//! leaves a test out and says so; under `cargo xtask test` it fails instead.

mod browser;
mod cluster;
mod error;
mod needed;
mod pgbouncer;
mod pin;
mod port;
mod postgres;
mod process;
mod program;
mod proxy;
mod rabbitmq;
mod reached;
mod redis;
mod resp;
mod sentinel;

pub use browser::Browser;
pub use cluster::Cluster;
pub use error::Error;
pub use needed::{REQUIRE_VARIABLE, needed};
pub use pgbouncer::PgBouncer;
pub use pin::pin;
pub use postgres::{Postgres, PostgresBuilder};
pub use program::{FOLDER_VARIABLE, Program, folder};
pub use proxy::{Fault, Proxy};
pub use rabbitmq::RabbitMq;
pub use reached::{Reached, Tls};
pub use redis::{Redis, RedisBinary, RedisBuilder};
pub use resp::Reply;
pub use sentinel::Sentinels;
