//! The command line's own program, watched while it runs.

use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tempfile::TempDir;

/// How often its memory is looked at. The system keeps the peak, so what is missed is only what comes in its last moment.
const LOOK: Duration = Duration::from_millis(5);

pub(super) struct Program {
    path: PathBuf,
}

/// One run that succeeded.
pub(super) struct Ran {
    pub(super) seconds: f64,
    pub(super) peak_mb: Option<f64>,
    /// What it wrote: for a list of a million records a file of some hundred megabytes.
    pub(super) output: Output,
}

/// A file in a folder that goes with it.
pub(super) struct Output {
    file: PathBuf,
    _folder: TempDir,
}

impl Output {
    pub(super) fn lines(&self) -> io::Result<impl Iterator<Item = io::Result<String>>> {
        Ok(BufReader::new(File::open(&self.file)?).lines())
    }
}

impl Program {
    /// It is built beside this one.
    pub(super) fn find() -> anyhow::Result<Self> {
        let own = env::current_exe().context("this program's own file is not known")?;
        let path = own.with_file_name(format!("idempotent{}", env::consts::EXE_SUFFIX));
        let folder = path.parent().context("this program is in no folder")?.display();
        ensure!(path.exists(), "there is no `idempotent` in {folder}: `cargo build --package idempotent-cli` makes it");
        Ok(Self { path })
    }

    /// Runs it to its end on the records of one namespace.
    pub(super) async fn run(&self, url: &str, namespace: &str, arguments: &[&str]) -> anyhow::Result<Ran> {
        let folder = TempDir::with_prefix("idempotent-bench-")?;
        // A file, so that it waits for nobody to read.
        let (output, said) = (folder.path().join("output"), folder.path().join("said"));
        let started = Instant::now();
        let mut running = Running(
            Command::new(&self.path)
                .args(arguments)
                .args(["--json", "--url", url, "--namespace", namespace])
                .stdin(Stdio::null())
                .stdout(File::create(&output)?)
                .stderr(File::create(&said)?)
                .spawn()
                .with_context(|| format!("could not run {}", self.path.display()))?,
        );
        let mut peak = None;
        let mut ticks = tokio::time::interval(LOOK);
        let status = loop {
            ticks.tick().await;
            peak = peak.max(peak_bytes(running.0.id()));
            if let Some(status) = running.0.try_wait()? {
                break status;
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        ensure!(status.success(), "`idempotent {}`: {}", arguments.join(" "), fs::read_to_string(said)?.trim_end());
        // Read when nobody is measured any more.
        Ok(Ran { seconds, peak_mb: peak.map(megabytes), output: Output { file: output, _folder: folder } })
    }
}

/// Ended when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended by now is as good.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Millions of bytes.
fn megabytes(bytes: u64) -> f64 {
    Duration::from_micros(bytes).as_secs_f64()
}

/// The most that a process has had in memory; on Linux.
fn peak_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(kibibytes.trim().trim_end_matches("kB").trim_end().parse::<u64>().ok()? * 1024)
}
