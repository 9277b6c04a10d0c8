//! Exit codes, and what is said before one that is not zero.

use std::fmt;
use std::process::ExitCode;

use idempotent_runtime::{Error, ErrorKind};

/// What `--help` says of them.
pub(crate) const HELP: &str = "\
Exit codes:
  0  done
  1  the store could not be reached, or refused
  2  the command line makes no sense
  3  there is no such record
  4  nothing was changed: a live run has the record, it has changed since it was looked at, or nobody agreed
  5  doctor has found something serious
  6  the record cannot be read";

/// Why a command did not do what it was asked for.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The runtime's own word.
    Runtime(Error),
    /// There is no such record.
    Absent(String),
    /// Nobody agreed, or the record is not to be changed.
    Unchanged(String),
    /// Something in the command line that clap cannot know.
    Usage(String),
    /// Anything else.
    Other(anyhow::Error),
}

/// Serious findings.
pub(crate) const SERIOUS: u8 = 5;

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::Runtime(error) => match error.kind() {
                ErrorKind::Busy | ErrorKind::Mismatch => 4,
                ErrorKind::Configuration | ErrorKind::MissingKeyPart => 2,
                ErrorKind::Unreadable => 6,
                _ => 1,
            },
            Self::Usage(_) => 2,
            Self::Absent(_) => 3,
            Self::Unchanged(_) => 4,
            Self::Other(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runtime(error) => {
                write!(f, "{error}")?;
                let mut cause = std::error::Error::source(error);
                let mut said = error.to_string();
                while let Some(error) = cause {
                    let text = error.to_string();
                    // An error that tells its causes itself is not repeated.
                    if !said.contains(&text) {
                        write!(f, ": {text}")?;
                        said.push_str(&text);
                    }
                    cause = error.source();
                }
                Ok(())
            }
            Self::Absent(key) => write!(f, "there is no record at `{key}`"),
            Self::Unchanged(why) | Self::Usage(why) => f.write_str(why),
            Self::Other(error) => write!(f, "{error:#}"),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Runtime(error)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Other(error.into())
    }
}

/// Says what went wrong; whoever closed the pipe has heard enough.
pub(crate) fn report(failure: &Failure) -> ExitCode {
    if let Failure::Other(error) = failure
        && let Some(error) = error.downcast_ref::<std::io::Error>()
        && error.kind() == std::io::ErrorKind::BrokenPipe
    {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {failure}");
    ExitCode::from(failure.code())
}
