//! The machine's own packages: Debian's are installed; for others the names are given.

use std::fmt;
use std::io::IsTerminal as _;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use servers::Program;

use crate::command;

/// Installs Debian packages as root, without letting them start services of their own.
const INSTALL: &str = include_str!("install.sh");

/// What installs packages on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manager {
    /// Debian and its children.
    Apt,
    /// macOS: its user is told the names.
    Homebrew,
    /// Any other system: its user is told Debian's names.
    Unknown,
}

impl Manager {
    pub(super) fn of_this_machine() -> Self {
        if cfg!(target_os = "macos") {
            Self::Homebrew
        } else if command::works("apt-get", &["--version"]) {
            Self::Apt
        } else {
            Self::Unknown
        }
    }

    /// The package that brings a program, unless a wheel does.
    pub(super) fn package(self, program: Program) -> Option<&'static str> {
        let (debian, homebrew) = match program {
            Program::RedisServer => ("redis-server", "redis"),
            Program::RedisSentinel => ("redis-sentinel", "redis"),
            Program::RabbitMq | Program::Epmd => ("rabbitmq-server", "rabbitmq"),
            Program::Postgres | Program::Initdb => ("postgresql", "postgresql@17"),
            Program::PgBouncer => ("pgbouncer", "pgbouncer"),
            Program::Curl => ("curl", "curl"),
            Program::Chromium => ("chromium", "chromium"),
            Program::ChromeDriver => ("chromium-driver", "chromedriver"),
            Program::Promtool => ("prometheus", "prometheus"),
            _ => return None,
        };
        Some(if self == Self::Homebrew { homebrew } else { debian })
    }

    pub(super) fn package_of_pip(self) -> &'static str {
        if self == Self::Homebrew { "python" } else { "python3-pip" }
    }

    pub(super) fn install(self, packages: &[&str]) -> anyhow::Result<()> {
        let names = packages.join(" ");
        match self {
            Self::Apt => {
                let status = as_root(packages)?.status().context("could not run a shell")?;
                ensure!(status.success(), "apt-get could not install {names}: {status}");
                Ok(())
            }
            Self::Homebrew => bail!("install them first: brew install {names}"),
            Self::Unknown => {
                bail!("there is no apt-get here: install what Debian calls {names} first, with this system's own tools")
            }
        }
    }
}

impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apt => "Debian packages",
            Self::Homebrew => "Homebrew formulae",
            Self::Unknown => "packages, by their Debian names,",
        })
    }
}

/// The installing script, through `sudo` only where the user is not root.
fn as_root(packages: &[&str]) -> anyhow::Result<Command> {
    let mut command = if rustix::process::geteuid().is_root() {
        Command::new("sh")
    } else {
        if !command::works("sudo", &["--version"]) {
            bail!("not root, and there is no sudo: install these first: {}", packages.join(" "));
        }
        let mut sudo = Command::new("sudo");
        if !std::io::stdin().is_terminal() {
            // Nobody is there to type a password: fail rather than wait for one.
            sudo.arg("-n");
        }
        sudo.arg("sh");
        sudo
    };
    command.args(["-c", INSTALL, "install.sh"]).args(packages);
    Ok(command)
}
