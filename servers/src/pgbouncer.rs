//! PgBouncer in front of a PostgreSQL.

use std::fs;
use std::net::TcpStream;
use std::time::Duration;

use tempfile::TempDir;

use crate::postgres::{Postgres, as_user, greets, own};
use crate::process::Process;
use crate::{Error, Program, port};

const PATIENCE: Duration = Duration::from_secs(30);

/// How often a start is tried where another takes the port first.
const TRIES: usize = 20;

/// A PgBouncer in transaction mode, ended when this is dropped: each transaction of a client may go to another of its few
/// connections to the server.
#[derive(Debug)]
pub struct PgBouncer {
    port: u16,
    // Ended before its folder is removed: fields are dropped in this order.
    _process: Process,
    _folder: TempDir,
}

impl PgBouncer {
    /// Starts one with this many connections to a server.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] where it is not installed; [`Error::NotReady`] where it does not start,
    /// with what it wrote to its log.
    pub fn start(server: &Postgres, connections: u32) -> Result<Self, Error> {
        let program = Program::PgBouncer.find()?;
        let folder =
            TempDir::with_prefix("idempotent-pgbouncer-").map_err(Error::while_doing("create a temporary folder"))?;
        own(folder.path())?;
        let (users, settings) = (folder.path().join("users"), folder.path().join("settings"));
        let write = Error::while_doing("write settings");
        fs::write(&users, "\"postgres\" \"\"\n").map_err(write)?;
        let mut tries = 1..TRIES;
        loop {
            let port = port::free().map_err(Error::while_doing("find a free port"))?;
            let text = format!(
                "[databases]\npostgres = host=127.0.0.1 port={} user=postgres\n\
                 [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
                 auth_type = trust\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = {connections}\n\
                 max_client_conn = 500\nignore_startup_parameters = extra_float_digits\n",
                server.port(),
                users.display()
            );
            fs::write(&settings, text).map_err(Error::while_doing("write settings"))?;
            let (first, arguments) = as_user(&program)?;
            let mut process = Process::spawn("pgbouncer", &first, folder.path().join("log"), |command| {
                command.args(arguments).arg(&settings).current_dir(folder.path());
            })?;
            let greeted = |_| TcpStream::connect(("127.0.0.1", port)).and_then(greets).unwrap_or(false);
            match process.wait_until_ready(PATIENCE, greeted) {
                Ok(()) => return Ok(Self { port, _process: process, _folder: folder }),
                Err(Error::NotReady { log, .. }) if log.contains("in use") && tries.next().is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The URL for a client, as the superuser and in the database `postgres`.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }
}
