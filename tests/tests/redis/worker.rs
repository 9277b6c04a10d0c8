//! A worker process, and what it has said.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A running `worker`, killed when dropped.
pub(crate) struct Worker {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Worker {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_worker"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the worker starts");
        let said = BufReader::new(child.stdout.take().expect("its output is piped"));
        Self { child, said }
    }

    /// Waits for the next line; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.said.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim().to_owned()),
        }
    }

    /// Waits for a line that starts with `word`, and gives the rest.
    pub(crate) fn until(&mut self, word: &str) -> String {
        loop {
            let line = self.next().unwrap_or_else(|| panic!("the worker ended without saying {word:?}"));
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Everything that is still said, until the end.
    pub(crate) fn rest(mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next()).collect()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// SIGKILL, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
