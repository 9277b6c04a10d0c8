//! What becomes of a test whose server is not installed.

use std::env;
use std::io::{self, Write as _};
use std::panic::Location;
use std::thread;

use crate::Error;

/// Where this variable is set (to anything but `0`), a missing server is a failure.
///
/// `cargo xtask test` sets it, for it has installed what is needed.
pub const REQUIRE_VARIABLE: &str = "IDEMPOTENT_REQUIRE_SERVERS";

/// The server that a test needs, or nothing where it is not installed.
///
/// The test then returns at once, and the user has been told which test was left out and why.
/// Every test that starts a server goes through here:
///
/// ```
/// # use servers::{Redis, RedisBinary};
/// fn a_test() {
///     let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
///     // …
/// }
/// ```
///
/// # Panics
///
/// Where the server is installed but did not start, and where [`REQUIRE_VARIABLE`] is set and it is
/// not installed.
#[track_caller]
pub fn needed<T>(started: Result<T, Error>) -> Option<T> {
    let error = match started {
        Ok(server) => return Some(server),
        Err(error) => error,
    };
    assert!(error.is_missing() && !required(), "{}", with_sources(&error));

    let thread = thread::current();
    let test = match thread.name() {
        Some(name) if name != "main" && !name.starts_with("tokio") => name.to_owned(),
        // Not a thread of the test runner, which has the test's name.
        _ => Location::caller().to_string(),
    };
    // Not `eprintln`, for the test runner would keep that to itself: the test passes.
    let line = format!("left out: {test}: {error}\n");
    _ = io::stderr().write_all(line.as_bytes());
    None
}

fn required() -> bool {
    env::var_os(REQUIRE_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0")
}

fn with_sources(error: &Error) -> String {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message.push_str(": ");
        message.push_str(&cause.to_string());
        source = cause.source();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Program;

    #[test]
    fn a_server_that_started_is_handed_on() {
        assert_eq!(needed(Ok(1)), Some(1));
    }

    #[test]
    fn a_server_that_did_not_start_is_a_failure() {
        let broken = || needed::<()>(Err(Error::NotRunning));
        assert!(std::panic::catch_unwind(broken).is_err());
    }

    #[test]
    fn a_missing_server_is_a_failure_only_where_it_is_required() {
        let missing = || needed::<()>(Err(Error::Missing(Program::RedisServer)));
        assert_eq!(std::panic::catch_unwind(missing).is_err(), required());
    }
}
