//! How the table comes to be: numbered steps, each of which may be applied twice.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use super::Dialect;
use super::connection::{Connection, Prepared};
use super::error::Failure;
use super::records::Records;
use super::table::Table;

/// What becomes of the table when a store connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Migrate {
    /// It is made, or brought up to date, where that is needed.
    AtStart,
    /// It is left to whoever runs the printed SQL; connecting fails where it is missing or old.
    ByHand,
}

/// The columns that both databases have alike.
const COLUMNS: &str = "revision bigint NOT NULL, format bigint NOT NULL, key text NOT NULL, state text NOT NULL, \
                       token text NOT NULL, attempt bigint NOT NULL, owner text NOT NULL, fingerprint text, \
                       lease bigint, retention bigint, held bigint, live_until bigint, found text, before text, \
                       error text, result_kind text, expires_at bigint, due bigint";

/// What makes a commit fail while a claim in that transaction is open: a reference to a table that is always empty,
/// checked when the transaction ends. Completion takes it away. PostgreSQL tells people the name.
const OPEN: &str = "CONSTRAINT an_idempotent_call_in_this_transaction_has_not_completed REFERENCES";

/// The steps, from the first on. A new one goes to the end; none is ever changed.
fn steps(dialect: Dialect, table: &Table) -> Vec<String> {
    let (records, index) = (table.with(""), format!("\"{}_due\"", table.name()));
    let never = table.with("_open");
    match dialect {
        #[cfg(feature = "postgres")]
        Dialect::Postgres => vec![
            format!(
                "CREATE SEQUENCE IF NOT EXISTS {fence};\n\
             CREATE TABLE IF NOT EXISTS {never} (id bigint PRIMARY KEY CHECK (id IS NULL));\n\
             CREATE TABLE IF NOT EXISTS {records} (digest bytea PRIMARY KEY, fence bigint NOT NULL, {COLUMNS}, result bytea,\n  \
             open bigint {OPEN} {never} (id) DEFERRABLE INITIALLY DEFERRED)\n  \
             WITH (fillfactor = 60, toast_tuple_target = 512, autovacuum_vacuum_scale_factor = 0.05);\n\
             CREATE INDEX IF NOT EXISTS {index} ON {records} (due) WHERE due IS NOT NULL;\n",
                fence = table.with("_fence")
            ),
            // Until when somebody waits for the end of its run.
            format!("ALTER TABLE {records} ADD COLUMN IF NOT EXISTS awaited bigint;\n"),
        ],
        // The fence is the row's number: AUTOINCREMENT gives none twice, also when rows have gone.
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => vec![format!(
            "CREATE TABLE IF NOT EXISTS {never} (id bigint PRIMARY KEY NOT NULL CHECK (id IS NULL));\n\
             CREATE TABLE IF NOT EXISTS {records} (fence integer PRIMARY KEY AUTOINCREMENT, digest blob NOT NULL UNIQUE, {COLUMNS}, \
             result blob, open bigint {OPEN} \"{name}_open\" (id) DEFERRABLE INITIALLY DEFERRED);\n\
             CREATE INDEX IF NOT EXISTS {index} ON {records} (due) WHERE due IS NOT NULL;\n",
            name = table.name()
        )],
    }
}

/// Everything, as SQL for a person to run.
pub(super) fn printed(dialect: Dialect, table: &Table) -> String {
    let mut all = begin(dialect, table);
    for (at, step) in steps(dialect, table).iter().enumerate() {
        all.push_str(step);
        all.push_str(&note(table, at + 1));
    }
    all + "COMMIT;\n"
}

fn begin(dialect: Dialect, table: &Table) -> String {
    let (start, schema) = match dialect {
        // Of all that start at once, one makes the table: IF NOT EXISTS alone fails for the others.
        #[cfg(feature = "postgres")]
        Dialect::Postgres => {
            let schema = table.schema().map(|schema| format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\";\n"));
            ("BEGIN;\nSELECT pg_advisory_xact_lock(7163549210384451);\n", schema.unwrap_or_default())
        }
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => ("BEGIN IMMEDIATE;\n", String::new()),
    };
    let migrations = table.with("_migrations");
    format!("{start}{schema}CREATE TABLE IF NOT EXISTS {migrations} (version bigint PRIMARY KEY);\n")
}

fn note(table: &Table, version: usize) -> String {
    format!(
        "INSERT INTO {} (version) VALUES ({version}) ON CONFLICT (version) DO NOTHING;\n",
        table.with("_migrations")
    )
}

/// Makes sure that the table is there and up to date. A database that needs nothing is only read.
pub(super) async fn ensure(records: &Records, migrate: Migrate) -> Result<(), Failure> {
    use crate::store::StoreError;

    let (dialect, table) = (records.dialect(), records.table());
    let wanted = steps(dialect, table).len();
    // A connection of its own: whatever goes wrong in here, it is closed.
    let mut connection = records.connections().open().await?;
    let prepared = records.connections().prepared();
    let found = version(&mut connection, prepared, dialect, table).await.map_err(Failure::of)?;
    if found >= wanted {
        return Ok(());
    }
    if migrate == Migrate::ByHand {
        let name = table.with("");
        return Err(StoreError::refused(format!(
            "the table {name} is missing or old (version {found} of {wanted}): run the SQL that the store's builder prints \
             with `migrations`, or connect with `Migrate::AtStart`"
        ))
        .into());
    }
    connection.borrowed().script(sql(printed(dialect, table))).await.map(drop).map_err(Failure::of)
}

/// How many steps were applied.
async fn version(
    connection: &mut Connection,
    prepared: Prepared,
    dialect: Dialect,
    table: &Table,
) -> Result<usize, sqlx::Error> {
    let migrations = table.with("_migrations");
    let is_there = match dialect {
        #[cfg(feature = "postgres")]
        Dialect::Postgres => {
            format!("SELECT CASE WHEN to_regclass('{migrations}') IS NULL THEN 0::bigint ELSE 1::bigint END")
        }
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => format!("SELECT count(*) FROM sqlite_master WHERE name = '{}_migrations'", table.name()),
    };
    if number(connection, prepared, is_there).await? == 0 {
        return Ok(0);
    }
    number(connection, prepared, format!("SELECT coalesce(max(version), 0) FROM {migrations}")).await
}

async fn number(connection: &mut Connection, prepared: Prepared, text: String) -> Result<usize, sqlx::Error> {
    let rows = connection.rows(&sql(text), &[], prepared).await?;
    let number = rows.first().map_or(Ok(None), |row| row.int(0))?;
    Ok(number.and_then(|number| usize::try_from(number).ok()).unwrap_or(0))
}

/// Made of checked names only.
fn sql(text: String) -> SqlStr {
    AssertSqlSafe(Arc::<str>::from(text)).into_sql_str()
}
