//! One connection to either database, and what is said on it.

#[cfg(feature = "postgres")]
use sqlx::postgres::{PgConnection, PgRow};
#[cfg(feature = "sqlite")]
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Error, Row as _, SqlStr};

/// A connection of the store's own.
pub(super) enum Connection {
    #[cfg(feature = "postgres")]
    Postgres(PgConnection),
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteConnection),
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
    /// Carries out one statement, to its end.
    pub(super) async fn rows(&mut self, sql: &SqlStr, values: &[Value]) -> Result<Vec<Row>, Error> {
        macro_rules! rows {
            ($connection:expr, $row:path) => {{
                let mut query = sqlx::query(sql.clone());
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
            Self::Postgres(connection) => rows!(connection, Row::Postgres),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => rows!(connection, Row::Sqlite),
        }
    }

    /// Carries out a script: several statements without values.
    pub(super) async fn script(&mut self, sql: SqlStr) -> Result<(), Error> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => sqlx::raw_sql(sql).execute(connection).await.map(drop),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => sqlx::raw_sql(sql).execute(connection).await.map(drop),
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
