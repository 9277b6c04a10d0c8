//! Where the programs are that this crate runs.

use std::env;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Error;

/// Names the folder that holds the servers which come from Python wheels, where it is not
/// `target/servers`.
pub const FOLDER_VARIABLE: &str = "IDEMPOTENT_SERVERS";

/// A program that the tests need, and that `cargo xtask setup` installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Program {
    /// The `redis-server` that the machine has: 7.0 from Debian 12.
    RedisServer,
    /// Sentinel, as the machine has it.
    RedisSentinel,
    /// Redis 8.2, unpacked from a Python wheel.
    Redis8_2,
    /// Valkey 9.1, unpacked from a Python wheel.
    Valkey9_1,
    /// RabbitMQ: the script that runs it as whoever calls it.
    RabbitMq,
    /// Erlang's name service, which RabbitMQ cannot do without.
    Epmd,
    /// The PostgreSQL server.
    Postgres,
    /// What makes a database for it.
    Initdb,
    /// What pools connections to PostgreSQL.
    PgBouncer,
    /// curl: a client of HTTP that is not ours.
    Curl,
    /// A browser.
    Chromium,
    /// What drives it for a test.
    ChromeDriver,
    /// What tries rules of Prometheus.
    Promtool,
}

impl Program {
    /// Every program, in the order in which a person would list them.
    pub const ALL: &[Self] = &[
        Self::RedisServer,
        Self::RedisSentinel,
        Self::Redis8_2,
        Self::Valkey9_1,
        Self::RabbitMq,
        Self::Epmd,
        Self::Postgres,
        Self::Initdb,
        Self::PgBouncer,
        Self::Curl,
        Self::Chromium,
        Self::ChromeDriver,
        Self::Promtool,
    ];

    /// The program's file.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] where it is not installed.
    pub fn find(self) -> Result<PathBuf, Error> {
        self.candidates().into_iter().find(|path| is_executable(path)).ok_or(Error::Missing(self))
    }

    /// The name of its file in [`folder`], for a program that comes from a wheel.
    pub const fn file_in_folder(self) -> Option<&'static str> {
        match self {
            Self::Redis8_2 => Some("redis-server-8.2"),
            Self::Valkey9_1 => Some("valkey-server-9.1"),
            _ => None,
        }
    }

    fn candidates(self) -> Vec<PathBuf> {
        if let Some(file) = self.file_in_folder() {
            return folders().into_iter().map(|folder| folder.join(file)).collect();
        }
        match self {
            Self::RedisServer => installed("redis-server", USUAL),
            Self::RedisSentinel => installed("redis-sentinel", USUAL),
            // Debian's `/usr/sbin/rabbitmq-server`, which the PATH finds, changes the user and
            // refuses all but root: the script that it calls comes first.
            Self::RabbitMq => {
                let mut found = vec![PathBuf::from("/usr/lib/rabbitmq/bin/rabbitmq-server")];
                found.extend(installed("rabbitmq-server", USUAL));
                found
            }
            Self::Epmd => installed("epmd", &["/usr/lib/erlang/bin", "/usr/local/lib/erlang/bin"]),
            Self::Postgres => of_postgres("postgres"),
            Self::Initdb => of_postgres("initdb"),
            Self::PgBouncer => installed("pgbouncer", USUAL),
            Self::Curl => installed("curl", USUAL),
            Self::Chromium => installed("chromium", USUAL),
            Self::ChromeDriver => installed("chromedriver", USUAL),
            Self::Promtool => installed("promtool", USUAL),
            Self::Redis8_2 | Self::Valkey9_1 => Vec::new(),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RedisServer => "redis-server",
            Self::RedisSentinel => "redis-sentinel",
            Self::Redis8_2 => "Redis 8.2",
            Self::Valkey9_1 => "Valkey 9.1",
            Self::RabbitMq => "rabbitmq-server",
            Self::Epmd => "Erlang's epmd",
            Self::Postgres => "postgres",
            Self::Initdb => "PostgreSQL's initdb",
            Self::PgBouncer => "pgbouncer",
            Self::Curl => "curl",
            Self::Chromium => "chromium",
            Self::ChromeDriver => "chromedriver",
            Self::Promtool => "promtool",
        })
    }
}

/// The folder where `cargo xtask setup` puts the servers that come from Python wheels: what
/// `IDEMPOTENT_SERVERS` names, or `servers` in the target folder of this workspace.
pub fn folder() -> PathBuf {
    folders().swap_remove(0)
}

/// A tool of the operating system, where it is installed.
pub(crate) fn tool(name: &'static str) -> Result<PathBuf, Error> {
    installed(name, USUAL).into_iter().find(|path| is_executable(path)).ok_or(Error::MissingTool(name))
}

/// Where programs are, apart from the PATH: a person's PATH often lacks the `sbin` folders.
const USUAL: &[&str] =
    &["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin", "/opt/homebrew/sbin"];

fn installed(name: &str, folders: &[&str]) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).chain(folders.iter().map(PathBuf::from)).map(|folder| folder.join(name)).collect()
}

/// A program of PostgreSQL. Debian has a folder for each version, and none of them in the PATH: the newest is taken.
fn of_postgres(name: &str) -> Vec<PathBuf> {
    const VERSIONS: &str = "/usr/lib/postgresql";
    let version = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let mut versions: Vec<_> = fs::read_dir(VERSIONS).into_iter().flatten().flatten().filter_map(version).collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    let of_version = |version| Path::new(VERSIONS).join(format!("{version}/bin/{name}"));
    versions.into_iter().map(of_version).chain(installed(name, USUAL)).collect()
}

/// Where servers from wheels may be, the best first; never empty.
fn folders() -> Vec<PathBuf> {
    if let Some(folder) = env::var_os(FOLDER_VARIABLE) {
        return vec![PathBuf::from(folder)];
    }
    let beside_this_program = env::current_exe().ok().and_then(|exe| target_folder_of(&exe));
    // Doctests are run from a temporary folder, so the place of the sources counts too.
    let beside_the_sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    beside_this_program.into_iter().chain([beside_the_sources]).map(|target| target.join("servers")).collect()
}

/// The target folder that a program was built in, which cargo marks with a file.
fn target_folder_of(program: &Path) -> Option<PathBuf> {
    program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file()).map(Path::to_path_buf)
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_in_the_target_folder_of_this_workspace() {
        if env::var_os(FOLDER_VARIABLE).is_some() {
            return;
        }
        let target = folder().parent().map(Path::to_path_buf);
        let exe = env::current_exe().unwrap();
        assert!(exe.starts_with(target.unwrap()), "{} is not beside {}", folder().display(), exe.display());
    }

    #[test]
    fn a_missing_program_is_named_with_the_command_that_installs_it() {
        let message = Error::Missing(Program::Valkey9_1).to_string();
        assert_eq!(message, "Valkey 9.1 is not installed: `cargo xtask setup` installs it");
    }
}
