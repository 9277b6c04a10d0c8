//! What the builders of the two stores have alike.

#[cfg(feature = "postgres")]
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Dialect;
use super::connection::Prepared;
use super::connections::{Connections, Limits, Options};
use super::migrations::{self, Migrate};
use super::records::Records;
use super::table::{self, Table};
#[cfg(feature = "postgres")]
use super::waking::Waking;
use crate::store::{StoreError, StoreErrorKind};

/// Between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(25);

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) schema: Option<String>,
    pub(super) table: String,
    pub(super) limits: Limits,
    pub(super) migrate: Migrate,
    pub(super) sweep_every: Option<Duration>,
    /// The URL over which the ends of runs are heard.
    #[cfg(feature = "postgres")]
    pub(super) wake_over: Option<Url>,
}

/// A URL, which may hold a password.
#[cfg(feature = "postgres")]
#[derive(Clone)]
pub(super) struct Url(pub(super) String);

#[cfg(feature = "postgres")]
impl std::fmt::Debug for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Url(..)")
    }
}

impl Settings {
    pub(super) fn new(connections: usize, timeout: Duration) -> Self {
        Self {
            schema: None,
            table: table::DEFAULT.to_owned(),
            limits: Limits { connections, prepared: Prepared::Kept, timeout },
            migrate: Migrate::AtStart,
            sweep_every: Some(Duration::from_mins(1)),
            #[cfg(feature = "postgres")]
            wake_over: None,
        }
    }

    pub(super) fn table(&self) -> Result<Table, StoreError> {
        Table::new(self.schema.as_deref(), &self.table)
    }

    pub(super) async fn connect(self, dialect: Dialect, options: Options) -> Result<Records, StoreError> {
        let (table, timeout) = (self.table()?, self.limits.timeout);
        let connections = Connections::new(options, self.limits);
        #[cfg(feature = "postgres")]
        let records = {
            let waking = self.wake_over.as_ref().map(|Url(url)| Waking::new(url, &table, timeout)).transpose()?;
            Records::new(dialect, table, connections, waking.map(Arc::new))
        };
        #[cfg(not(feature = "postgres"))]
        let records = Records::new(dialect, table, connections);
        let late = || StoreError::unavailable(format!("no connection within {timeout:?}"));
        let prepared = tokio::time::timeout(timeout, self.prepare(&records)).await;
        prepared.map_err(|_| late()).flatten()?;
        if let Some(every) = self.sweep_every {
            records.sweep_in_background(every);
        }
        Ok(records)
    }

    async fn prepare(&self, records: &Records) -> Result<(), StoreError> {
        let started = Instant::now();
        loop {
            // A server that is starting; several processes that make one file.
            match migrations::ensure(records, self.migrate).await.map_err(super::error::Failure::into_error) {
                Err(error)
                    if error.kind() == StoreErrorKind::Unavailable && started.elapsed() < self.limits.timeout / 2 =>
                {
                    tokio::time::sleep(PAUSE).await;
                }
                settled => return settled,
            }
        }
    }
}

/// The settings that both builders have, by the same names.
macro_rules! settings {
    () => {
        /// The table's name: `idempotency_records` by default. Letters `a-z`, digits and `_`.
        pub fn table(mut self, name: &str) -> Self {
            self.settings.table = name.to_owned();
            self
        }

        /// How long one operation may take, the wait for a connection included, before its connection is given up.
        pub fn timeout(mut self, timeout: Duration) -> Self {
            self.settings.limits.timeout = timeout;
            self
        }

        /// Whether connecting makes the table, or only looks for it: [`Migrate::AtStart`] by default.
        pub fn migrate(mut self, migrate: Migrate) -> Self {
            self.settings.migrate = migrate;
            self
        }

        /// How often a task of the runtime that connects removes expired records: a minute by default. `None` leaves that
        /// to whoever calls `sweep`.
        pub fn sweep_every(mut self, every: Option<Duration>) -> Self {
            self.settings.sweep_every = every;
            self
        }
    };
}

pub(super) use settings;
