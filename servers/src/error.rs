use std::io;
use std::path::PathBuf;

use crate::Program;

/// Why a server could not be started, reached or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is not on this machine.
    #[error("{0} is not installed: `cargo xtask setup` installs it")]
    Missing(Program),

    /// A tool of the operating system that this needs is not on this machine.
    #[error("`{0}` is not installed")]
    MissingTool(&'static str),

    /// The program was found, but the operating system would not run it.
    #[error("could not run {}", program.display())]
    Spawn {
        /// The file that was to be run.
        program: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },

    /// The server ended before it was ready, or was not ready in time.
    #[error("{server} did not start: {reason}; the end of its log:\n{log}")]
    NotReady {
        /// The server, as a person would name it.
        server: &'static str,
        /// Whether it ended by itself or took too long.
        reason: String,
        /// The last lines that it wrote.
        log: String,
    },

    /// The server is not running: it was killed, and not restarted since.
    #[error("the server is not running: it was killed, and not restarted")]
    NotRunning,

    /// The server answered a command with an error.
    #[error("the server refused the command: {0}")]
    Refused(String),

    /// A file, a socket or a signal failed.
    #[error("could not {doing}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Error {
    /// Whether the cause is something that is not installed, rather than something that went wrong.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::MissingTool(_))
    }

    /// For `map_err`: an I/O error met while doing something.
    pub(crate) fn while_doing(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}
