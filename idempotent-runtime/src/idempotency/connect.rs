//! From a URL to a store.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;
use crate::store::{MemoryStore, Store};

pub(super) async fn store(url: &str, timeout: Duration) -> Result<Arc<dyn Store>, Error> {
    let _ = timeout;
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    match scheme {
        "memory" => Ok(Arc::new(MemoryStore::new())),
        #[cfg(feature = "redis")]
        _ if names_redis(scheme) => within(timeout, crate::store::RedisStore::connect(url)).await,
        #[cfg(not(feature = "redis"))]
        _ if names_redis(scheme) => Err(missing("redis")),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => within(timeout, crate::store::PostgresStore::connect(url)).await,
        #[cfg(not(feature = "postgres"))]
        "postgres" | "postgresql" => Err(missing("postgres")),
        #[cfg(feature = "sqlite")]
        "sqlite" => within(timeout, crate::store::SqliteStore::connect(url)).await,
        #[cfg(not(feature = "sqlite"))]
        "sqlite" => Err(missing("sqlite")),
        _ => Err(unknown(scheme)),
    }
}

/// Whether a scheme is one of Redis or Valkey: how the servers are reached may be part of it (`redis+unix`).
pub(super) fn names_redis(scheme: &str) -> bool {
    matches!(scheme.split('+').next(), Some("redis" | "rediss" | "valkey" | "valkeys" | "unix"))
}

pub(super) fn unknown(scheme: &str) -> Error {
    Error::configuration(format!(
        "the store URL's scheme {scheme:?} is unknown; use `memory:`, `redis:`, `postgres:` or `sqlite:`"
    ))
}

#[cfg(not(all(feature = "redis", feature = "postgres", feature = "sqlite")))]
pub(super) fn missing(feature: &str) -> Error {
    Error::configuration(format!("`{feature}:` needs the feature `{feature}` of idempotent-runtime"))
}

#[cfg(any(feature = "redis", feature = "postgres", feature = "sqlite"))]
pub(super) async fn within<S: Store>(
    timeout: Duration,
    connecting: impl Future<Output = Result<S, crate::StoreError>>,
) -> Result<Arc<dyn Store>, Error> {
    let connected = match tokio::time::timeout(timeout, connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(crate::StoreError::unavailable(format!("no connection within {timeout:?}"))),
    };
    match connected {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => Err(Error::new(crate::error::ErrorKind::StoreUnavailable).because(error)),
    }
}
