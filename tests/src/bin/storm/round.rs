//! One round: four processes with fifty duplicates each, what becomes of their winner, and what stands in the end.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, ensure};

use crate::database::Database;
use crate::patience::until;
use crate::role::Role;
use crate::scenario::Scenario;

const PROCESSES: usize = 4;
const CALLS: usize = 50;

/// Plays one round, and says what was not as it must be.
pub(crate) fn play(database: &mut dyn Database, scenario: Scenario, key: &str) -> anyhow::Result<Vec<String>> {
    database.prepare(scenario)?;
    let role = scenario.role();
    let workers: Vec<_> = (0..PROCESSES).map(|_| Worker::start(&database.url(), key, role)).collect();
    let mut workers: Vec<_> = workers.into_iter().collect::<Result<_, _>>()?;
    database.harm(scenario)?;
    let (mut answers, mut killed) = (Vec::new(), 0);
    while let Some(worker) = workers.pop() {
        let (status, mut said) = worker.end()?;
        if status.signal().is_some() && role.dies() {
            killed += 1;
            // What it had been sent is delivered again.
            workers.push(Worker::start(&database.url(), key, Role::Commit)?);
            continue;
        }
        ensure!(status.success(), "a worker ended with {status}");
        answers.append(&mut said);
    }
    let mut violations = judge(database, scenario, key, &answers)?;
    let expected_deaths = i32::from(role.dies());
    if killed != expected_deaths {
        violations.push(format!("{killed} workers were killed, not {expected_deaths}"));
    }
    Ok(violations)
}

fn judge(database: &dyn Database, scenario: Scenario, key: &str, answers: &[i64]) -> anyhow::Result<Vec<String>> {
    let mut violations = Vec::new();
    let mut must_be = |what: &str, found: i64, expected: i64| {
        if found != expected {
            violations.push(format!("{what}: {found}, not {expected}"));
        }
    };
    let run = scenario.standing_run();
    must_be("effects", database.count("SELECT count(*) FROM effects WHERE key = $1", key)?, 1);
    must_be("its run", database.count("SELECT COALESCE(max(run), 0) FROM effects WHERE key = $1", key)?, run);
    let record = "SELECT count(*) FROM idempotency_records WHERE key = 'storm:' || $1 AND state = 'completed'";
    must_be("completed records", database.count(record, key)?, 1);
    must_be("answers", i64::try_from(answers.len())?, i64::try_from(PROCESSES * CALLS)?);
    for other in answers.iter().filter(|&&answer| answer != run) {
        must_be("an answer", *other, run);
    }
    Ok(violations)
}

/// A process of a round, killed when dropped.
struct Worker {
    child: Child,
    said: Option<JoinHandle<Vec<i64>>>,
}

impl Worker {
    fn start(url: &str, key: &str, role: Role) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["worker", url, key, &CALLS.to_string(), &role.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("its output is piped")?;
        let said = thread::spawn(move || {
            let lines = BufReader::new(out).lines().map_while(Result::ok);
            lines.filter_map(|line| line.strip_prefix("answer ")?.parse().ok()).collect()
        });
        Ok(Self { child, said: Some(said) })
    }

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
