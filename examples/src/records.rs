//! A record in one line.

use idempotent_runtime::admin::{Inspected, State};
use idempotent_runtime::{Encoded, Recorded};

/// A record's state, attempts and contents, as a person reads them.
pub fn describe(record: &Inspected) -> String {
    let (state, contents) = match &record.state {
        State::InProgress { remaining, .. } => ("in progress", format!("lease ends in {remaining:?}")),
        State::Failed { last_error } => ("failed", last_error.to_string()),
        State::Completed(Recorded::Value(Encoded { bytes, .. })) => {
            ("completed", String::from_utf8_lossy(bytes).into_owned())
        }
        State::Completed(other) => ("completed", format!("{other:?}")),
    };
    format!("{state:<9}  attempt {}  {contents}", record.attempt)
}
