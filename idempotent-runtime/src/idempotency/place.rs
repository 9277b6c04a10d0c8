//! From a URL to a store, for administration: nothing is made, and nothing dangerous is refused.

use std::sync::Arc;
#[cfg(any(feature = "redis", feature = "postgres", feature = "sqlite"))]
use std::time::Duration;

#[cfg(not(all(feature = "redis", feature = "postgres", feature = "sqlite")))]
use super::connect::missing;
#[cfg(any(feature = "redis", feature = "postgres", feature = "sqlite"))]
use super::connect::within;
use super::connect::{names_redis, unknown};
use crate::error::Error;
use crate::store::{MemoryStore, Store};

/// How long one operation may take: a page of a list takes longer than a call should.
#[cfg(any(feature = "redis", feature = "postgres", feature = "sqlite"))]
const PATIENCE: Duration = Duration::from_secs(10);

/// Where in a database the records are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    pub(crate) schema: Option<String>,
    pub(crate) table: Option<String>,
}

/// The stores that a URL can name.
enum Named {
    Memory,
    Redis,
    Postgres,
    Sqlite,
}

fn named(url: &str) -> Result<Named, Error> {
    match url.split_once(':').map_or("", |(scheme, _)| scheme) {
        "memory" => Ok(Named::Memory),
        "postgres" | "postgresql" => Ok(Named::Postgres),
        "sqlite" => Ok(Named::Sqlite),
        scheme if names_redis(scheme) => Ok(Named::Redis),
        scheme => Err(unknown(scheme)),
    }
}

impl Place {
    pub(super) async fn store(&self, url: &str) -> Result<Arc<dyn Store>, Error> {
        match named(url)? {
            Named::Memory => Ok(Arc::new(MemoryStore::new())),
            #[cfg(feature = "redis")]
            Named::Redis => {
                let store = crate::store::RedisStore::builder().response_timeout(PATIENCE).accept_eviction();
                within(PATIENCE, store.connect(url)).await
            }
            #[cfg(not(feature = "redis"))]
            Named::Redis => Err(missing("redis")),
            #[cfg(feature = "postgres")]
            Named::Postgres => {
                let store = self.postgres().migrate(crate::store::Migrate::ByHand).sweep_every(None);
                within(PATIENCE, store.connect(url)).await
            }
            #[cfg(not(feature = "postgres"))]
            Named::Postgres => Err(missing("postgres")),
            #[cfg(feature = "sqlite")]
            Named::Sqlite => {
                let store = self.sqlite().migrate(crate::store::Migrate::ByHand).sweep_every(None);
                within(PATIENCE, store.connect(url)).await
            }
            #[cfg(not(feature = "sqlite"))]
            Named::Sqlite => Err(missing("sqlite")),
        }
    }

    #[cfg_attr(not(any(feature = "postgres", feature = "sqlite")), expect(clippy::unused_self))]
    pub(crate) fn migrations(&self, url: &str) -> Result<Option<String>, Error> {
        match named(url)? {
            Named::Memory | Named::Redis => Ok(None),
            #[cfg(feature = "postgres")]
            Named::Postgres => self.postgres().migrations().map(Some).map_err(refused),
            #[cfg(not(feature = "postgres"))]
            Named::Postgres => Err(missing("postgres")),
            #[cfg(feature = "sqlite")]
            Named::Sqlite => self.sqlite().migrations().map(Some).map_err(refused),
            #[cfg(not(feature = "sqlite"))]
            Named::Sqlite => Err(missing("sqlite")),
        }
    }

    /// Whether the store has tables, which are there afterwards.
    pub(crate) async fn migrate(&self, url: &str) -> Result<bool, Error> {
        match named(url)? {
            Named::Memory | Named::Redis => Ok(false),
            #[cfg(feature = "postgres")]
            Named::Postgres => within(PATIENCE, self.postgres().sweep_every(None).connect(url)).await.map(|_| true),
            #[cfg(not(feature = "postgres"))]
            Named::Postgres => Err(missing("postgres")),
            #[cfg(feature = "sqlite")]
            Named::Sqlite => within(PATIENCE, self.sqlite().sweep_every(None).connect(url)).await.map(|_| true),
            #[cfg(not(feature = "sqlite"))]
            Named::Sqlite => Err(missing("sqlite")),
        }
    }

    #[cfg(feature = "postgres")]
    fn postgres(&self) -> crate::store::PostgresStoreBuilder {
        let store = crate::store::PostgresStore::builder().timeout(PATIENCE).max_connections(4);
        let store = self.schema.iter().fold(store, |store, schema| store.schema(schema));
        self.table.iter().fold(store, |store, table| store.table(table))
    }

    #[cfg(feature = "sqlite")]
    fn sqlite(&self) -> crate::store::SqliteStoreBuilder {
        let store = crate::store::SqliteStore::builder().timeout(PATIENCE);
        self.table.iter().fold(store, |store, table| store.table(table))
    }
}

#[cfg(any(feature = "postgres", feature = "sqlite"))]
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn refused(why: crate::StoreError) -> Error {
    Error::configuration(why.to_string())
}
