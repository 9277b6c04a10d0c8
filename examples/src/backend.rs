//! The servers that an example talks to: those that it was given, or its own.

use anyhow::Result;

/// A Redis and a RabbitMQ. Those that this started end when it is dropped.
#[derive(Debug)]
pub struct Backend {
    /// The URL of Redis.
    pub redis: String,
    /// The URL of RabbitMQ.
    pub amqp: String,
    #[cfg(unix)]
    _own: (Option<servers::Redis>, Option<servers::RabbitMq>),
}

impl Backend {
    /// Uses the servers at these URLs, and starts one of its own where none is given.
    ///
    /// It blocks for some seconds: RabbitMQ needs as long to start.
    ///
    /// # Errors
    ///
    /// Where a server is not installed, with the command that installs it; where one does not start.
    #[cfg(unix)]
    pub fn given_or_own(redis: Option<String>, amqp: Option<String>) -> Result<Self> {
        let own_redis = redis.is_none().then(|| servers::Redis::start(servers::RedisBinary::System)).transpose()?;
        let own_rabbit = amqp.is_none().then(servers::RabbitMq::start).transpose()?;
        let url_of = |given: Option<String>, own: Option<String>| given.or(own).unwrap_or_default();
        Ok(Self {
            redis: url_of(redis, own_redis.as_ref().map(servers::Redis::url)),
            amqp: url_of(amqp, own_rabbit.as_ref().map(servers::RabbitMq::url)),
            _own: (own_redis, own_rabbit),
        })
    }

    /// Uses the servers at these URLs.
    ///
    /// # Errors
    ///
    /// Where one is not given.
    #[cfg(not(unix))]
    pub fn given_or_own(redis: Option<String>, amqp: Option<String>) -> Result<Self> {
        use anyhow::Context as _;
        Ok(Self {
            redis: redis.context("say where Redis is: --redis redis://127.0.0.1/")?,
            amqp: amqp.context("say where RabbitMQ is: --amqp amqp://guest:guest@127.0.0.1/%2f")?,
        })
    }
}

/// A Redis. One that this started ends when it is dropped.
#[derive(Debug)]
pub struct Redis {
    url: String,
    #[cfg(unix)]
    _own: Option<servers::Redis>,
}

impl Redis {
    /// Uses the server at this URL, and starts one of its own where none is given.
    ///
    /// # Errors
    ///
    /// Where it is not installed, with the command that installs it; where it does not start.
    #[cfg(unix)]
    pub fn given_or_own(url: Option<String>) -> Result<Self> {
        let own = url.is_none().then(|| servers::Redis::start(servers::RedisBinary::System)).transpose()?;
        Ok(Self { url: url.or(own.as_ref().map(servers::Redis::url)).unwrap_or_default(), _own: own })
    }

    /// Uses the server at this URL.
    ///
    /// # Errors
    ///
    /// Where it is not given.
    #[cfg(not(unix))]
    pub fn given_or_own(url: Option<String>) -> Result<Self> {
        use anyhow::Context as _;
        Ok(Self { url: url.context("say where Redis is: --redis redis://127.0.0.1/")? })
    }

    /// The server's URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// A PostgreSQL. One that this started ends when it is dropped.
#[derive(Debug)]
pub struct Postgres {
    url: String,
    #[cfg(unix)]
    _own: Option<servers::Postgres>,
}

impl Postgres {
    /// Uses the server at this URL, and starts one of its own where none is given.
    ///
    /// # Errors
    ///
    /// Where it is not installed, with the command that installs it; where it does not start.
    #[cfg(unix)]
    pub fn given_or_own(url: Option<String>) -> Result<Self> {
        let own = url.is_none().then(servers::Postgres::start).transpose()?;
        Ok(Self { url: url.or(own.as_ref().map(servers::Postgres::url)).unwrap_or_default(), _own: own })
    }

    /// Uses the server at this URL.
    ///
    /// # Errors
    ///
    /// Where it is not given.
    #[cfg(not(unix))]
    pub fn given_or_own(url: Option<String>) -> Result<Self> {
        use anyhow::Context as _;
        Ok(Self { url: url.context("say where PostgreSQL is: --postgres postgres://user@127.0.0.1/database")? })
    }

    /// The server's URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}
