//! What the client's errors mean to the store.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use redis::{ErrorKind, RedisError};

use super::cluster::Slot;
use crate::store::{StoreError, StoreErrorKind};

/// Why a command has no answer that the store can use.
#[derive(Debug)]
pub(super) enum Failure {
    /// The key holds something that is no string.
    WrongType,
    /// The server does not know the script.
    NoScript,
    /// Another node of the Cluster serves the key's slot.
    Moved(Redirect),
    /// Another node of the Cluster is about to get the key's slot, and has or gets this key.
    Ask(Redirect),
    /// The store cannot answer.
    Store {
        error: StoreError,
        /// Whether the connection is of no more use: lost, to a demoted primary, or no longer authenticated.
        reconnect: bool,
    },
}

impl Failure {
    pub(super) fn of(error: RedisError) -> Self {
        let (passing, reconnect) = match error.code() {
            Some("WRONGTYPE") => return Self::WrongType,
            Some("NOSCRIPT") => return Self::NoScript,
            Some(code @ ("MOVED" | "ASK")) => {
                if let Some(to) = error.detail().and_then(Redirect::read) {
                    return if code == "MOVED" { Self::Moved(to) } else { Self::Ask(to) };
                }
                (false, false)
            }
            // A demoted primary; one that its replicas have left, for another perhaps; a password that was changed: the
            // connection would answer this for good, or for long.
            Some("READONLY" | "NOREPLICAS" | "NOAUTH") => (true, true),
            // Starting, failing over, busy with a script, out of memory, or unable to save: all of it passes.
            Some("LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "BUSY" | "OOM" | "MISCONF" | "UNBLOCKED") => {
                (true, false)
            }
            Some("ERR") if error.detail().is_some_and(|detail| detail.starts_with("max number of clients")) => {
                (true, true)
            }
            Some(_) => (false, false),
            None => match error.kind() {
                ErrorKind::Io => (true, true),
                // What was read is no answer: whatever follows on this connection belongs to nobody.
                ErrorKind::Parse => (false, true),
                _ => (false, false),
            },
        };
        let error = if passing { StoreError::unavailable(Told(error)) } else { StoreError::refused(Told(error)) };
        Self::Store { error, reconnect }
    }

    /// The error of an operation that expected neither a wrong type nor a missing script.
    pub(super) fn into_error(self) -> StoreError {
        match self {
            Self::WrongType => StoreError::unreadable("the key holds another type than a record"),
            Self::NoScript => StoreError::unavailable("the server forgot a script that had just been loaded"),
            Self::Moved(_) | Self::Ask(_) => StoreError::refused(
                "the server is one node of a Cluster, and the key is at another: write redis+cluster://",
            ),
            Self::Store { error, .. } => error,
        }
    }
}

/// Where a node sends a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    pub(super) slot: Slot,
    /// Empty for the host of the node that says so.
    pub(super) host: String,
    pub(super) port: u16,
}

impl Redirect {
    /// Reads `slot host:port`.
    fn read(text: &str) -> Option<Self> {
        let (slot, address) = text.split_once(' ')?;
        let (host, port) = address.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Some(Self { slot: Slot::new(slot.parse().ok()?)?, host: host.to_owned(), port: port.parse().ok()? })
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store { error, reconnect: false }
    }
}

/// The client's error in the server's own words. The client's `source` says the same again, so that step is left out.
#[derive(Debug)]
pub(super) struct Told(pub(super) RedisError);

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.code(), self.0.detail()) {
            (Some(code), Some(detail)) => write!(f, "{code} {detail}"),
            _ => self.0.fmt(f),
        }
    }
}

impl StdError for Told {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source().and_then(StdError::source)
    }
}

/// Why a connection gives no more answers.
#[derive(Clone, Debug)]
pub(super) enum Ended {
    /// The server was silent.
    Silent(NoAnswer),
    /// The server closed it.
    Closed,
    /// The network failed.
    Lost(Arc<io::Error>),
    /// What was read is no answer, for a reason of ours.
    Garbled(&'static str),
    /// What was read is no answer, in the parser's words.
    Unreadable(Arc<str>),
    /// The runtime that drove it is gone.
    RuntimeGone,
    /// The store let it go.
    LetGo,
}

impl Ended {
    /// What it means to a caller that waits.
    pub(super) fn failure(&self) -> Failure {
        let error = match self {
            // Whatever follows on this connection belongs to nobody.
            Self::Garbled(_) | Self::Unreadable(_) => StoreError::refused(self.clone()),
            Self::Silent(no_answer) => StoreError::unavailable(*no_answer),
            _ => StoreError::unavailable(self.clone()),
        };
        Failure::Store { error, reconnect: true }
    }
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Lost(Arc::new(error))
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(no_answer) => no_answer.fmt(f),
            Self::Closed => f.write_str("the server closed the connection"),
            Self::Lost(error) => write!(f, "the connection was lost: {error}"),
            Self::Garbled(what) => write!(f, "the server sent what makes no sense: {what}"),
            Self::Unreadable(what) => write!(f, "the server sent what makes no sense: {what}"),
            Self::RuntimeGone => f.write_str("the runtime of the connection has ended"),
            Self::LetGo => f.write_str("the store has closed the connection"),
        }
    }
}

impl StdError for Ended {}

/// The server was silent for too long.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoAnswer {
    pub(super) within: Duration,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer within {:?}", self.within)
    }
}

impl StdError for NoAnswer {}

/// One failed attempt to connect, for every caller that waited for it.
#[derive(Clone, Debug)]
pub(super) struct NotConnected {
    address: Arc<str>,
    error: Arc<StoreError>,
}

impl NotConnected {
    pub(super) fn new(address: Arc<str>, error: StoreError) -> Self {
        Self { address, error: Arc::new(error) }
    }

    pub(super) fn into_error(self) -> StoreError {
        match self.error.kind() {
            StoreErrorKind::Unavailable => StoreError::unavailable(self),
            StoreErrorKind::Refused | StoreErrorKind::Unreadable => StoreError::refused(self),
        }
    }
}

impl fmt::Display for NotConnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot connect to {}", self.address)
    }
}

impl StdError for NotConnected {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests {
    use redis::Value;

    use super::*;

    fn kind(error: RedisError) -> (StoreErrorKind, bool) {
        match Failure::of(error) {
            Failure::Store { error, reconnect } => (error.kind(), reconnect),
            other => panic!("{other:?}"),
        }
    }

    fn server(line: &str) -> RedisError {
        match redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).expect("a well-formed line") {
            Value::ServerError(error) => error.into(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_passes_is_unavailable_and_the_rest_refused() {
        use StoreErrorKind::{Refused, Unavailable};
        for (line, expected) in [
            ("READONLY You can't write against a read only replica.", (Unavailable, true)),
            ("NOAUTH Authentication required.", (Unavailable, true)),
            ("NOREPLICAS Not enough good replicas to write.", (Unavailable, true)),
            ("LOADING Redis is loading the dataset in memory", (Unavailable, false)),
            ("MASTERDOWN Link with MASTER is down", (Unavailable, false)),
            ("OOM command not allowed when used memory > 'maxmemory'.", (Unavailable, false)),
            ("MISCONF Redis is configured to save RDB snapshots", (Unavailable, false)),
            ("BUSY Redis is busy running a script.", (Unavailable, false)),
            ("ERR max number of clients reached", (Unavailable, true)),
            ("ERR unknown command 'SET'", (Refused, false)),
            ("WRONGPASS invalid username-password pair or user is disabled.", (Refused, false)),
            ("NOPERM this user has no permissions to run the 'evalsha' command", (Refused, false)),
            ("MOVED nonsense", (Refused, false)),
        ] {
            assert_eq!(kind(server(line)), expected, "{line}");
        }
        assert_eq!(kind(std::io::Error::from(std::io::ErrorKind::ConnectionReset).into()), (Unavailable, true));
        assert_eq!(kind((ErrorKind::Parse, "nonsense").into()), (Refused, true));
    }

    #[test]
    fn a_node_says_where_to_go() {
        for (line, host, port) in [
            ("MOVED 3999 127.0.0.1:6381", "127.0.0.1", 6381),
            ("MOVED 3999 ::1:6381", "::1", 6381),
            ("MOVED 3999 :6381", "", 6381),
        ] {
            let Failure::Moved(to) = Failure::of(server(line)) else { panic!("{line}") };
            assert_eq!((to.slot, &*to.host, to.port), (Slot::new(3999).expect("there is one"), host, port));
        }
        assert!(
            matches!(Failure::of(server("ASK 3999 node.example:1")), Failure::Ask(to) if to.host == "node.example")
        );
        let error = Failure::of(server("MOVED 3999 127.0.0.1:6381")).into_error();
        assert!(error.to_string().contains("redis+cluster://"), "{error}");
    }

    #[test]
    fn the_servers_own_words_are_readable_in_the_error() {
        let Failure::Store { error, .. } = Failure::of(server("NOPERM this user has no permissions")) else {
            panic!("a refusal");
        };
        assert_eq!(error.to_string(), "the store refused: NOPERM this user has no permissions");
    }
}
