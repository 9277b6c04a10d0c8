//! The clock of a server.
//!
//! Records are judged by it alone, and it is never compared with another when they are. So a clock that is wrong does
//! nothing; but one that is set, or that belongs to another server than before, ends leases early or late. Here it is
//! compared, as a hint to a person: with this machine's, and with itself at the last look.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::Value;

use super::Finding;
use crate::clock::{Clock, Moment};
use crate::store::Home;

/// Clocks that are kept in step differ by less.
const BLUR: Duration = Duration::from_secs(1);

/// What a server's clock showed when it was last looked at.
#[derive(Debug, Default)]
pub(in crate::store::redis) struct LastLook(Mutex<Option<Look>>);

#[derive(Clone, Copy, Debug)]
struct Look {
    server: Duration,
    here: Moment,
}

impl LastLook {
    /// Judges the answer to `TIME`, which has just come.
    pub(super) fn judge(&self, server: &str, answer: &Value, round_trip: Duration, findings: &mut Vec<Finding>) {
        let Some(shown) = shown(answer) else { return };
        let blur = BLUR + round_trip;
        let local = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let by = shown.abs_diff(local);
        if by > blur {
            findings.push(Finding::ClockDiffers { server: server.to_owned(), by });
        }
        let look = Look { server: shown, here: Clock::of(Home::Thread).now() };
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(look);
        if let Some(by) = last.map(|last| look.jump_since(last)).filter(|by| *by > blur) {
            findings.push(Finding::ClockJumped { server: server.to_owned(), by });
        }
    }
}

impl Look {
    /// How far the server's clock is from where it must be.
    fn jump_since(self, last: Self) -> Duration {
        (last.server + self.here.since(last.here)).abs_diff(self.server)
    }
}

/// Seconds and microseconds, as text.
fn shown(answer: &Value) -> Option<Duration> {
    let Value::Array(parts) = answer else { return None };
    let number = |at: usize| match parts.get(at)? {
        Value::BulkString(text) => std::str::from_utf8(text).ok()?.parse::<u64>().ok(),
        _ => None,
    };
    Some(Duration::from_secs(number(0)?) + Duration::from_micros(number(1)?))
}
