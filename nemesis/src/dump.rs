//! What servers hold, read in one atomic step each.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result};
use servers::Redis;

use crate::history::{Held, State};

const PATIENCE: Duration = Duration::from_secs(5);

/// Gives each key with its value and the rest of its time.
const READ: &str = "
    local all = {}
    for _, key in ipairs(redis.call('KEYS', 'nemesis:*')) do
        table.insert(all, {key, redis.call('GET', key), redis.call('PTTL', key)})
    end
    return all";

/// All records of a server, also of a replica.
pub(crate) fn read(server: &Redis) -> Result<BTreeMap<u64, Held>> {
    let client = redis::Client::open(server.url())?;
    let mut connection = client.get_connection_with_timeout(PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    // A replica of a Cluster answers for its keys to whoever says so; elsewhere it is refused.
    _ = redis::cmd("READONLY").exec(&mut connection);
    let all: Vec<(String, Vec<u8>, i64)> = redis::cmd("EVAL").arg(READ).arg(0).query(&mut connection)?;
    let record = |(key, text, left): (String, Vec<u8>, i64)| {
        let number = key.rsplit(':').next().and_then(|number| number.parse().ok());
        let held = held(&text, left).with_context(|| format!("{key}: {}", text.escape_ascii()))?;
        Ok((number.with_context(|| format!("a key of another: {key}"))?, held))
    };
    all.into_iter().map(record).collect()
}

/// Reads as much of a record's line as is of interest: see the documentation of the store.
fn held(text: &[u8], left: i64) -> Option<Held> {
    let text = str::from_utf8(text).ok()?;
    let (head, rest) = text.split_once('@')?;
    let token = head.get(3..25)?.to_owned();
    let number = |mark: char| head.get(25..)?.split_once(mark)?.1.split('^').next()?.parse().ok();
    let attempt = number('#').unwrap_or(1);
    let state = match head.get(..3)? {
        "1p " => {
            let kept = rest.split_once('/')?.1.split([' ', '/']).next()?.parse::<i64>().ok()?;
            State::InProgress { renewed_ago: u64::try_from(kept - left).unwrap_or(0) }
        }
        "1g " => State::GivenUp,
        "1f " => State::Failed,
        "1c " => State::Completed(rest.split_once(" =").and_then(|(_, value)| value.parse().ok())),
        _ => return None,
    };
    Some(Held { token, attempt, state })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_the_store_writes_it() {
        let token = "AAAAAAAAAAAAAAAAAAAAAB";
        let held = |text: &str| held(text.replace("TOKEN", token).as_bytes(), 3_590_000);
        let expected = |attempt, state| Some(Held { token: token.to_owned(), attempt, state });
        let renewed = State::InProgress { renewed_ago: 10_000 };
        for (text, expected) in [
            ("1p TOKEN@host:1 - lease=3000/3600000 begun new", expected(1, renewed)),
            ("1p TOKEN#2^17@host:1 - lease=3000/3600000/9 begun after-failed|why", expected(2, renewed)),
            ("1g TOKEN#3@host:1 - lease=3000/3600000 begun new", expected(3, State::GivenUp)),
            ("1f TOKEN^9@host:1 - failed: card declined", expected(1, State::Failed)),
            ("1c TOKEN#12@host:1 - =77", expected(12, State::Completed(Some(77)))),
            ("2c TOKEN@host:1 - =77", None),
        ] {
            assert_eq!(held(text), expected, "{text}");
        }
    }
}
