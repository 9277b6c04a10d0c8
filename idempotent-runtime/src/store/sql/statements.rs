//! The statements on the table, as text.
//!
//! Times are whole microseconds since 1970 by the database's clock. It is read before the row is: what is judged by it
//! was so when it was read. PostgreSQL's `statement_timestamp()` is that moment (`now()` would be the transaction's
//! start, and `clock_timestamp()` one after the statement's snapshot was taken, by which a claim that was renewed in
//! between would look lapsed). For SQLite, whose clock is the machine's, it goes along as the last value.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use super::Dialect;
use super::table::Table;

/// The columns of a record, in the order in which they are written, as `$1` and on. `format` is not among them.
const WRITTEN: &str = "digest, fence, revision, key, state, token, attempt, owner, fingerprint, lease, retention, held, \
                       live_until, found, before, error, result_kind, result, expires_at";

/// The columns of a record, in the order in which they are read.
pub(super) const READ: &str = "fence, revision, format, state, token, attempt, owner, fingerprint, lease, retention, \
                               held, live_until, found, before, error, result_kind, result, expires_at";

/// How long after its expiry the sweeper looks at a record, in microseconds. A completion moves the expiry of a claim;
/// if it comes within this time, the record still goes at the first look, and the index was not touched.
pub(super) const SLACK: i64 = 60_000_000;

/// How long a waiter's mark stands, in microseconds; one more end may be told for nothing within that.
#[cfg(feature = "postgres")]
const AWAITED: i64 = 1_200_000_000;

/// The statements of one table.
#[derive(Debug)]
pub(super) struct Statements {
    /// `$1` digest. A row that begins with the time, also where there is no record.
    pub(super) read: SqlStr,
    /// A record where there is none.
    pub(super) insert: SqlStr,
    /// As `insert`; `$13` and `$19` count from now.
    pub(super) insert_from_now: SqlStr,
    /// A record in place of the one with the fence `$20` and the revision `$3`.
    pub(super) replace: SqlStr,
    /// As `replace`, with a fence of its own.
    pub(super) replace_with_fence: SqlStr,
    /// `$1` digest, `$2` token, `$3` and `$4` result, `$5` retention: the owner's completion.
    pub(super) complete: SqlStr,
    /// `$1` how many: removes what has expired.
    pub(super) sweep: SqlStr,
    /// `$1` how many: puts off what the sweeper looked at too early.
    pub(super) put_off: SqlStr,
    /// `$1` how many, `$2` for how long: takes expired records for a sweeper that hands them on first.
    pub(super) take: SqlStr,
    /// `$1` digest, `$2` fence, `$3` revision: removes an expired record that was handed on.
    pub(super) remove: SqlStr,
    /// `$1` digest: says for a while that somebody waits for the end of the run.
    #[cfg(feature = "postgres")]
    pub(super) await_end: SqlStr,
    /// `$1` digest, `$2` how many: what a list needs of the rows after this one.
    pub(super) list: SqlStr,
    /// `$1` digest, `$2` fence, `$3` revision: removes a record as it was seen.
    pub(super) remove_seen: SqlStr,
    /// How many records have expired for longer than a sweeper needs; not counted to the end.
    pub(super) overdue: SqlStr,
    /// The same for a claim in its caller's transaction.
    pub(super) within: Within,
}

/// The statements that a claim in its caller's transaction needs. Its row is *open* until it is completed: a transaction
/// with an open row cannot be committed.
#[derive(Debug)]
pub(super) struct Within {
    /// As `read`; the last column says, on SQLite, whether foreign keys are looked at.
    pub(super) read: SqlStr,
    /// As `insert_from_now`, open. On PostgreSQL `$20` is the `lock_timeout` from then on.
    pub(super) insert: SqlStr,
    /// As `replace_with_fence`, open.
    pub(super) replace: SqlStr,
    /// As `complete`, and no longer open.
    pub(super) complete: SqlStr,
}

impl Statements {
    pub(super) fn new(dialect: Dialect, table: &Table) -> Self {
        let build = Build { dialect, table };
        Self {
            read: build.read(),
            insert: build.insert("$13", "$19"),
            insert_from_now: build.insert("$13 + {now}", "$19 + {now}"),
            replace: build.replace(),
            replace_with_fence: build.replace_with_fence(),
            complete: build.complete(),
            sweep: build.sweep(),
            put_off: build.put_off(),
            take: build.take(),
            remove: build.remove(),
            #[cfg(feature = "postgres")]
            await_end: build.await_end(),
            list: build.list(),
            remove_seen: build.remove_seen(),
            overdue: build.overdue(),
            within: build.within(),
        }
    }
}

struct Build<'a> {
    dialect: Dialect,
    table: &'a Table,
}

impl Build<'_> {
    fn read(&self) -> SqlStr {
        let columns: Vec<_> = READ.split(", ").map(|column| format!("t.{column}")).collect();
        let columns = columns.join(", ");
        self.finish(1, &Self::reading(&columns))
    }

    fn reading(columns: &str) -> String {
        format!("SELECT n.at, {columns} FROM (SELECT {{now}} AS at) n LEFT JOIN {{table}} t ON t.digest = $1")
    }

    fn insert(&self, live_until: &str, expires_at: &str) -> SqlStr {
        let values = Self::values(self.new_fence(), "$3", live_until, expires_at);
        self.finish(
            19,
            &format!(
                "INSERT INTO {{table}} ({WRITTEN}, format, due) VALUES ({values}, {expires_at} + {SLACK}) \
                 ON CONFLICT (digest) DO NOTHING RETURNING fence"
            ),
        )
    }

    fn within(&self) -> Within {
        let (live_until, expires_at) = ("$13 + {now}", "$19 + {now}");
        let values = Self::values(self.new_fence(), "$3", live_until, expires_at);
        let insert = format!(
            "INSERT INTO {{table}} ({WRITTEN}, format, due, open) VALUES ({values}, {expires_at} + {SLACK}, 1) \
             ON CONFLICT (digest) DO NOTHING RETURNING fence"
        );
        let due = Self::due("$5 + {now}");
        let complete = self.finish(
            5,
            &format!(
                "UPDATE {{table}} SET revision = revision + 1, state = 'completed', before = NULL, result_kind = $3, \
                 result = $4, expires_at = $5 + {{now}}, due = {due}, open = NULL WHERE digest = $1 AND token = $2 \
                 AND open IS NOT NULL RETURNING fence"
            ),
        );
        match self.dialect {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => Within {
                read: self.read(),
                insert: self.finish(20, &format!("{insert}, set_config('lock_timeout', $20, true)")),
                replace: self
                    .finish(20, &self.update(self.new_fence()).replace(" format = 1,", " format = 1, open = 1,")),
                complete,
            },
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => {
                let values = Self::values(self.new_fence(), "$3 + 1", "$13", "$19");
                let replace = format!(
                    "INSERT OR REPLACE INTO {{table}} ({WRITTEN}, format, due, open) SELECT {values}, $19 + {SLACK}, 1 \
                     WHERE EXISTS (SELECT 1 FROM {{table}} WHERE digest = $1 AND fence = $20 AND revision = $3) \
                     RETURNING fence"
                );
                let columns: Vec<_> = READ.split(", ").map(|column| format!("t.{column}")).collect();
                let columns = columns.join(", ");
                let guarded = format!("{columns}, (SELECT foreign_keys FROM pragma_foreign_keys)");
                Within {
                    read: self.finish(1, &Self::reading(&guarded)),
                    insert: self.finish(19, &insert),
                    replace: self.finish(20, &replace),
                    complete,
                }
            }
        }
    }

    fn replace(&self) -> SqlStr {
        self.finish(20, &self.update("$2"))
    }

    fn replace_with_fence(&self) -> SqlStr {
        match self.dialect {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => self.finish(20, &self.update(self.new_fence())),
            // Only an insertion has a new fence: it is the row's own number, which is never given twice.
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => {
                let values = Self::values(self.new_fence(), "$3 + 1", "$13", "$19");
                self.finish(
                    20,
                    &format!(
                        "INSERT OR REPLACE INTO {{table}} ({WRITTEN}, format, due) SELECT {values}, $19 + {SLACK} WHERE EXISTS \
                         (SELECT 1 FROM {{table}} WHERE digest = $1 AND fence = $20 AND revision = $3) RETURNING fence"
                    ),
                )
            }
        }
    }

    /// The indexed column is only written where the sweeper would come too late: so nearly every update stays on its
    /// page (HOT), and what is renewed for long is put off by the sweeper itself.
    fn update(&self, fence: &str) -> String {
        format!(
            "UPDATE {{table}} SET fence = {fence}, revision = revision + 1, format = 1, state = $5, token = $6, \
             attempt = $7, owner = COALESCE($8, owner), fingerprint = $9, lease = $10, retention = $11, held = $12, \
             live_until = $13, found = $14, before = $15, error = $16, result_kind = $17, result = $18, \
             expires_at = $19, due = {} WHERE digest = $1 AND fence = $20 AND revision = $3 RETURNING fence{}",
            Self::due("$19"),
            self.told("AND (state IN ('failed', 'completed', 'given_up') OR live_until <= {now})")
        )
    }

    fn complete(&self) -> SqlStr {
        let due = Self::due("$5 + {now}");
        self.finish(
            5,
            &format!(
                "UPDATE {{table}} SET revision = revision + 1, state = 'completed', before = NULL, result_kind = $3, \
                 result = $4, expires_at = $5 + {{now}}, due = {due} WHERE digest = $1 AND token = $2 \
                 AND state IN ('claimed', 'begun') AND format = 1 AND (expires_at IS NULL OR expires_at > {{now}}) \
                 RETURNING fence{}",
                self.told("")
            ),
        )
    }

    /// Tells the end of a run, if somebody waits for it: the mark is read as it is in the row that was written, so none
    /// that was there before is missed.
    fn told(&self, and: &str) -> String {
        match self.dialect {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => {
                let channel = self.table.channel();
                format!(", CASE WHEN awaited > {{now}} {and} THEN pg_notify('{channel}', encode(digest, 'hex')) END")
            }
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => {
                let _ = and;
                String::new()
            }
        }
    }

    #[cfg(feature = "postgres")]
    fn await_end(&self) -> SqlStr {
        self.finish(
            1,
            &format!(
                "UPDATE {{table}} SET awaited = {{now}} + {AWAITED} WHERE digest = $1 \
                 AND (awaited IS NULL OR awaited < {{now}} + {AWAITED} / 2) RETURNING fence"
            ),
        )
    }

    fn sweep(&self) -> SqlStr {
        let due = self.due_now("AND expires_at <= {now}");
        self.finish(
            1,
            &format!("DELETE FROM {{table}} WHERE digest IN ({due}) AND expires_at <= {{now}} RETURNING fence"),
        )
    }

    /// Looks at the first `$1` that are due and at no others: where a backlog has expired, whoever looked on for those
    /// that live would read all of it, for every batch anew.
    fn put_off(&self) -> SqlStr {
        let lives = "(expires_at IS NULL OR expires_at > {now})";
        let first = "SELECT digest, expires_at FROM {table} WHERE due <= {now} ORDER BY due LIMIT $1";
        let skip_locked = self.skip_locked();
        self.finish(
            1,
            &format!(
                "UPDATE {{table}} SET due = expires_at + {SLACK} WHERE digest IN (SELECT digest FROM {{table}} \
                 WHERE digest IN (SELECT digest FROM ({first}) first WHERE {lives}) AND {lives}{skip_locked}) \
                 RETURNING fence"
            ),
        )
    }

    fn take(&self) -> SqlStr {
        let due = self.due_now("AND expires_at <= {now}");
        let columns = format!("{{now}}, {READ}, digest, key");
        self.finish(
            2,
            &format!(
                "UPDATE {{table}} SET due = $2 + {{now}} WHERE digest IN ({due}) AND expires_at <= {{now}} \
                 RETURNING {columns}"
            ),
        )
    }

    fn remove(&self) -> SqlStr {
        let whole = "DELETE FROM {table} WHERE digest = $1 AND fence = $2 AND revision = $3 AND expires_at <= {now} \
                     RETURNING fence";
        self.finish(3, whole)
    }

    fn list(&self) -> SqlStr {
        let columns = super::listing::COLUMNS;
        self.finish(2, &format!("SELECT {{now}}, {columns} FROM {{table}} WHERE digest > $1 ORDER BY digest LIMIT $2"))
    }

    fn remove_seen(&self) -> SqlStr {
        let told = self.told("");
        self.finish(
            3,
            &format!("DELETE FROM {{table}} WHERE digest = $1 AND fence = $2 AND revision = $3 RETURNING fence{told}"),
        )
    }

    fn overdue(&self) -> SqlStr {
        // By half an hour: nobody sweeps.
        let late = "due <= {now} - 1800000000 AND expires_at <= {now}";
        self.finish(0, &format!("SELECT count(*) FROM (SELECT 1 FROM {{table}} WHERE {late} LIMIT 10000) late"))
    }

    /// Who is due, oldest first, `$1` of them. Rows that another sweeper or a call has locked are left to it.
    fn due_now(&self, and: &str) -> String {
        let skip_locked = self.skip_locked();
        format!("SELECT digest FROM {{table}} WHERE due <= {{now}} {and} ORDER BY due LIMIT $1{skip_locked}")
    }

    fn skip_locked(&self) -> &'static str {
        match self.dialect {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => " FOR UPDATE SKIP LOCKED",
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => "",
        }
    }

    fn values(fence: &str, revision: &str, live_until: &str, expires_at: &str) -> String {
        let middle: Vec<_> = (9..=12).chain(14..=18).map(|at| format!("${at}")).collect();
        let (before, after) = (middle[..4].join(", "), middle[4..].join(", "));
        format!(
            "$1, {fence}, {revision}, $4, $5, $6, $7, COALESCE($8, ''), {before}, {live_until}, {after}, {expires_at}, 1"
        )
    }

    fn due(expires_at: &str) -> String {
        let due = format!("{expires_at} + {SLACK}");
        format!("CASE WHEN due IS NULL OR due > {due} THEN {due} ELSE due END")
    }

    /// A new fence where `$2` is 0.
    fn new_fence(&self) -> &'static str {
        match self.dialect {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => "CASE WHEN $2 = 0 THEN nextval('{fence}') ELSE $2 END",
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => "NULLIF($2, 0)",
        }
    }

    fn finish(&self, values: usize, sql: &str) -> SqlStr {
        let now = match self.dialect {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint".to_owned(),
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => format!("${}", values + 1),
        };
        #[cfg(not(feature = "sqlite"))]
        let _ = values;
        let sql = sql.replace("{fence}", &self.table.with("_fence")).replace("{table}", &self.table.with(""));
        AssertSqlSafe(Arc::<str>::from(sql.replace("{now}", &now))).into_sql_str()
    }
}
