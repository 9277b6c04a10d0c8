//! One round: four processes with fifty duplicates each, what becomes of their winner, and what stands in the end.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use idempotent_runtime::store::PostgresStore;
use servers::{Postgres, Proxy};
use sqlx::{Connection as _, PgConnection};
use tokio::runtime::Runtime;

use crate::scenario::Scenario;

const PROCESSES: usize = 4;
const CALLS: usize = 50;

/// How long a round may take. Beyond it something stands still.
const PATIENCE: Duration = Duration::from_mins(2);

/// The server, a network in front of it, and who asks it what stands.
pub(crate) struct Storm {
    proxy: Proxy,
    server: Postgres,
    runtime: Runtime,
}

impl Storm {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let server = Postgres::start()?;
        let proxy = Proxy::start(server.port())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            PostgresStore::builder().timeout(PATIENCE).connect(&server.url()).await?;
            let mut connection = PgConnection::connect(&server.url()).await?;
            let tables = "CREATE TABLE effects (key text NOT NULL, run bigint NOT NULL); CREATE SEQUENCE runs";
            sqlx::raw_sql(tables).execute(&mut connection).await?;
            connection.close().await?;
            anyhow::Ok(())
        })?;
        Ok(Self { proxy, server, runtime })
    }

    /// Plays one round, and says what was not as it must be.
    pub(crate) fn round(&self, scenario: Scenario, number: u32) -> anyhow::Result<Vec<String>> {
        let key = format!("round-{number}");
        self.runtime.block_on(self.count("SELECT setval('runs', 1, false)", None))?;
        let lost = self.proxy.answers_lost();
        if scenario == Scenario::ServerDies {
            // The others wait for the winner, so the first to commit is the winner.
            self.proxy.lose_answers_to(1, "COMMIT");
        }
        let workers: Vec<_> = (0..PROCESSES).map(|_| self.start_worker(&key, scenario.role())).collect();
        let mut workers: Vec<_> = workers.into_iter().collect::<Result<_, _>>()?;
        if scenario == Scenario::ServerDies {
            until("the winner's commit", || self.proxy.answers_lost() > lost)?;
            self.server.kill()?;
            self.server.restart()?;
        }
        let (mut answers, mut killed) = (Vec::new(), 0);
        while let Some(worker) = workers.pop() {
            let (status, mut said) = worker.end()?;
            if status.signal().is_some() && scenario.kills_a_worker() {
                killed += 1;
                // What it had been sent is delivered again.
                workers.push(self.start_worker(&key, "commit")?);
                continue;
            }
            ensure!(status.success(), "a worker ended with {status}");
            answers.append(&mut said);
        }
        let expected_deaths = usize::from(scenario.kills_a_worker());
        let mut violations = self.runtime.block_on(self.judge(scenario, &key, &answers))?;
        if killed != expected_deaths {
            violations.push(format!("{killed} workers were killed, not {expected_deaths}"));
        }
        Ok(violations)
    }

    async fn judge(&self, scenario: Scenario, key: &str, answers: &[i64]) -> anyhow::Result<Vec<String>> {
        let mut violations = Vec::new();
        let mut must_be = |what: &str, found: i64, expected: i64| {
            if found != expected {
                violations.push(format!("{what}: {found}, not {expected}"));
            }
        };
        let run = scenario.standing_run();
        must_be("effects", self.count("SELECT count(*) FROM effects WHERE key = $1", Some(key)).await?, 1);
        must_be("its run", self.count("SELECT max(run) FROM effects WHERE key = $1", Some(key)).await?, run);
        let record = "SELECT count(*) FROM idempotency_records WHERE key = 'storm:' || $1 AND state = 'completed'";
        must_be("completed records", self.count(record, Some(key)).await?, 1);
        must_be("answers", i64::try_from(answers.len())?, i64::try_from(PROCESSES * CALLS)?);
        for other in answers.iter().filter(|&&answer| answer != run) {
            must_be("an answer", *other, run);
        }
        Ok(violations)
    }

    async fn count(&self, sql: &'static str, key: Option<&str>) -> anyhow::Result<i64> {
        let mut connection = PgConnection::connect(&self.server.url()).await?;
        let query = sqlx::query_scalar(sql);
        let query = if let Some(key) = key { query.bind(key.to_owned()) } else { query };
        let number = query.fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok(number)
    }

    fn start_worker(&self, key: &str, role: &str) -> anyhow::Result<Worker> {
        let url = self.proxy.url(&self.server.url());
        let mut child = Command::new(std::env::current_exe()?)
            .args(["worker", &url, key, &CALLS.to_string(), role])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("its output is piped")?;
        let said = thread::spawn(move || {
            let lines = BufReader::new(out).lines().map_while(Result::ok);
            lines.filter_map(|line| line.strip_prefix("answer ")?.parse().ok()).collect()
        });
        Ok(Worker { child, said: Some(said) })
    }
}

/// A process of a round, killed when dropped.
struct Worker {
    child: Child,
    said: Option<JoinHandle<Vec<i64>>>,
}

impl Worker {
    /// Waits for its end: how it ended, and what it was answered.
    fn end(mut self) -> anyhow::Result<(ExitStatus, Vec<i64>)> {
        let mut status = None;
        until("the end of a worker", || {
            status = self.child.try_wait().ok().flatten();
            status.is_some()
        })?;
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        Ok((status.context("it has ended")?, said))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) -> anyhow::Result<()> {
    let started = Instant::now();
    while !is_so() {
        ensure!(started.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
