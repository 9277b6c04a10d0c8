//! A browser without a window, which a test drives through ChromeDriver.

use std::net::TcpStream;
use std::time::Duration;

use tempfile::TempDir;

use crate::process::Process;
use crate::{Error, Program, port};

const PATIENCE: Duration = Duration::from_secs(30);

/// A ChromeDriver, and the browsers that it opens: all are ended when this is dropped.
#[derive(Debug)]
pub struct Browser {
    port: u16,
    chromium: String,
    // Ended before its folder is removed: fields are dropped in this order.
    _process: Process,
    folder: TempDir,
}

impl Browser {
    /// Starts one.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] where Chromium or its driver is not installed; [`Error::NotReady`] where it does not start.
    pub fn start() -> Result<Self, Error> {
        let (chromium, driver) = (Program::Chromium.find()?, Program::ChromeDriver.find()?);
        let folder =
            TempDir::with_prefix("idempotent-browser-").map_err(Error::while_doing("create a temporary folder"))?;
        let port = port::free().map_err(Error::while_doing("find a free port"))?;
        let mut process = Process::spawn("chromedriver", &driver, folder.path().join("log"), |command| {
            command.arg(format!("--port={port}")).env("TMPDIR", folder.path()).env("HOME", folder.path());
        })?;
        process.wait_until_ready(PATIENCE, |_| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(Self { port, chromium: chromium.display().to_string(), _process: process, folder })
    }

    /// Where WebDriver clients find it.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What a session has to ask for (`goog:chromeOptions`), as JSON: no window, a profile of its own, and nothing that
    /// looks for the network.
    pub fn capabilities(&self) -> String {
        let arguments = [
            "--headless",
            // A browser that is driven through a pipe ends when nobody holds the other end: also where this process was
            // killed, and its driver with it.
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1200,900",
        ];
        let arguments: Vec<_> = arguments.iter().map(|argument| format!("\"{argument}\"")).collect();
        let profile = self.folder.path().join("profile");
        format!(
            r#"{{"goog:chromeOptions":{{"binary":"{}","args":[{},"--user-data-dir={}"]}}}}"#,
            self.chromium,
            arguments.join(","),
            profile.display()
        )
    }
}
