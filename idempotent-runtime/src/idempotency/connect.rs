//! From a URL to a store.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;
use crate::store::{MemoryStore, Store};

pub(super) async fn store(url: &str, timeout: Duration) -> Result<Arc<dyn Store>, Error> {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    match scheme {
        "memory" => Ok(Arc::new(MemoryStore::new())),
        #[cfg(feature = "redis")]
        "redis" => redis(url, timeout).await,
        #[cfg(not(feature = "redis"))]
        "redis" => {
            let _ = timeout;
            Err(Error::configuration("`redis:` needs the feature `redis` of idempotent-runtime"))
        }
        _ => Err(Error::configuration(format!(
            "the store URL's scheme {scheme:?} is unknown; use `memory:` or `redis:`"
        ))),
    }
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
