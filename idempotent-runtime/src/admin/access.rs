//! Reaching a store as an administrator.

use std::fmt;

use crate::error::Error;
use crate::idempotency::{Builder, Idempotency, Place};

/// A way to a store's records that makes nothing and refuses nothing by itself: no table or file comes to be, nothing is
/// swept in the background, and a server that is dangerous to its records is reached all the same, to be
/// [checked](Idempotency::check).
///
/// ```no_run
/// # async fn example() -> Result<(), idempotent_runtime::Error> {
/// use idempotent_runtime::Idempotency;
/// use idempotent_runtime::admin::{Access, Query};
///
/// let idempotency = Access::to("postgres://shop@db.example/shop").schema("shop").open(Idempotency::builder()).await?;
/// println!("{:?}", idempotency.stats(&Query::new()).await?.total);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Access {
    url: String,
    place: Place,
}

impl Access {
    /// To the store of this URL, as [`Idempotency::connect`] reads it.
    pub fn to(url: &str) -> Self {
        Self { url: url.to_owned(), place: Place::default() }
    }

    /// In this schema of a PostgreSQL database.
    pub fn schema(mut self, schema: &str) -> Self {
        self.place.schema = Some(schema.to_owned());
        self
    }

    /// In this table of a PostgreSQL or SQLite database: `idempotency_records` unless another is named.
    pub fn table(mut self, table: &str) -> Self {
        self.place.table = Some(table.to_owned());
        self
    }

    /// Connects. Namespace, secret and codec are those of `settings`.
    ///
    /// # Errors
    ///
    /// `Configuration` for a URL or a setting that cannot be used; `StoreUnavailable` when the store cannot be reached, or
    /// its table is missing or old.
    pub async fn open(self, settings: Builder) -> Result<Idempotency, Error> {
        settings.administer(&self.url, &self.place).await
    }

    /// The SQL that makes the table, or brings it up to date; it may be run again. `None` for a store without tables.
    /// Connects to nothing.
    ///
    /// ```
    /// use idempotent_runtime::admin::Access;
    ///
    /// assert_eq!(Access::to("memory:").migrations()?, None);
    /// # Ok::<(), idempotent_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Configuration` for a URL or a name that cannot be used.
    pub fn migrations(&self) -> Result<Option<String>, Error> {
        self.place.migrations(&self.url)
    }

    /// Makes the table, or brings it up to date; whether the store has tables.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub async fn migrate(&self) -> Result<bool, Error> {
        self.place.migrate(&self.url).await
    }
}

/// The URL may hold a password.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("place", &self.place).finish_non_exhaustive()
    }
}
