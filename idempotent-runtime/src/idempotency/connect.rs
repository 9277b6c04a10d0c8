//! From a URL to a store.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;
use crate::store::{MemoryStore, Store};

pub(super) async fn store(url: &str, timeout: Duration) -> Result<Arc<dyn Store>, Error> {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    match scheme {
        "memory" => Ok(Arc::new(MemoryStore::new())),
        _ if names_redis(scheme) => redis(url, timeout).await,
        _ => Err(Error::configuration(format!(
            "the store URL's scheme {scheme:?} is unknown; use `memory:` or `redis:`"
        ))),
    }
}

/// Whether a scheme is one of Redis or Valkey: how the servers are reached may be part of it (`redis+unix`).
fn names_redis(scheme: &str) -> bool {
    matches!(scheme.split('+').next(), Some("redis" | "rediss" | "valkey" | "valkeys" | "unix"))
}

#[cfg(not(feature = "redis"))]
async fn redis(_: &str, _: Duration) -> Result<Arc<dyn Store>, Error> {
    Err(Error::configuration("`redis:` needs the feature `redis` of idempotent-runtime"))
}

#[cfg(feature = "redis")]
async fn redis(url: &str, timeout: Duration) -> Result<Arc<dyn Store>, Error> {
    use crate::error::ErrorKind;
    use crate::store::{RedisStore, StoreError};

    let connected = match tokio::time::timeout(timeout, RedisStore::connect(url)).await {
        Ok(connected) => connected,
        Err(_) => Err(StoreError::unavailable(format!("no connection within {timeout:?}"))),
    };
    match connected {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => Err(Error::new(ErrorKind::StoreUnavailable).because(error)),
    }
}
