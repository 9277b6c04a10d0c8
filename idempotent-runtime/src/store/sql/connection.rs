//! One connection to either database, and what is said on it.

#[cfg(feature = "postgres")]
use sqlx::postgres::{PgConnection, PgRow};
#[cfg(feature = "sqlite")]
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Error, Row as _, SqlStr};

use super::Dialect;

/// A connection of the store's own.
pub(super) enum Connection {
    #[cfg(feature = "postgres")]
    Postgres(PgConnection),
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteConnection),
}

/// A connection for a while: the store's own, or the one of a caller's transaction.
pub(super) enum Borrowed<'c> {
    #[cfg(feature = "postgres")]
    Postgres(&'c mut PgConnection),
    #[cfg(feature = "sqlite")]
    Sqlite(&'c mut SqliteConnection),
}

/// What becomes of a prepared statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Prepared {
    /// It is kept under a name, on its connection.
    #[default]
    Kept,
    /// It is used once: behind a pooler the connection to the server is another by the next transaction.
    Once,
}

/// A value that is sent with a statement.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
}

/// A row that came back.
pub(super) enum Row {
    #[cfg(feature = "postgres")]
    Postgres(PgRow),
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteRow),
}

impl Connection {
    pub(super) fn borrowed(&mut self) -> Borrowed<'_> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => Borrowed::Postgres(connection),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => Borrowed::Sqlite(connection),
        }
    }
}

impl Connection {
    /// Carries out one statement, to its end. One that is prepared once is a transaction, so that its preparation goes to
    /// where it is then carried out; after an error that is left open.
    pub(super) async fn rows(&mut self, sql: &SqlStr, values: &[Value], prepared: Prepared) -> Result<Vec<Row>, Error> {
        let mut connection = self.borrowed();
        if prepared == Prepared::Kept {
            return connection.rows(sql, values, prepared).await;
        }
        connection.script(SqlStr::from_static("BEGIN")).await?;
        let rows = connection.rows(sql, values, prepared).await?;
        connection.script(SqlStr::from_static("COMMIT")).await?;
        Ok(rows)
    }
}

impl Borrowed<'_> {
    pub(super) fn dialect(&self) -> Dialect {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Dialect::Postgres,
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// Whether the client knows of a transaction on it.
    #[cfg(feature = "sqlite")]
    pub(super) fn is_in_transaction(&self) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => sqlx::Connection::is_in_transaction(&**connection),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => sqlx::Connection::is_in_transaction(&**connection),
        }
    }

    /// Carries out one statement, to its end.
    pub(super) async fn rows(&mut self, sql: &SqlStr, values: &[Value], prepared: Prepared) -> Result<Vec<Row>, Error> {
        macro_rules! rows {
            ($connection:expr, $row:path) => {{
                let mut query = sqlx::query(sql.clone()).persistent(prepared == Prepared::Kept);
                for value in values {
                    query = match value {
                        Value::Int(value) => query.bind(*value),
                        Value::Text(value) => query.bind(value.as_deref()),
                        Value::Bytes(value) => query.bind(value.as_deref()),
                    };
                }
                // All rows, also where there is one: what ends early is not told of an error at its end.
                let rows = query.fetch_all($connection).await?;
                Ok(rows.into_iter().map($row).collect())
            }};
        }
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => rows!(&mut **connection, Row::Postgres),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => rows!(&mut **connection, Row::Sqlite),
        }
    }

    /// Carries out a script, several statements without values, and gives the rows of all.
    pub(super) async fn script(&mut self, sql: SqlStr) -> Result<Vec<Row>, Error> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => {
                let rows = sqlx::raw_sql(sql).fetch_all(&mut **connection).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => {
                let rows = sqlx::raw_sql(sql).fetch_all(&mut **connection).await?;
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
        }
    }
}

impl Row {
    pub(super) fn int(&self, at: usize) -> Result<Option<i64>, Error> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => row.try_get(at),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(row) => row.try_get(at),
        }
    }

    pub(super) fn text(&self, at: usize) -> Result<Option<String>, Error> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => row.try_get(at),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(row) => row.try_get(at),
        }
    }

    pub(super) fn bytes(&self, at: usize) -> Result<Option<Vec<u8>>, Error> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => row.try_get(at),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(row) => row.try_get(at),
        }
    }
}
