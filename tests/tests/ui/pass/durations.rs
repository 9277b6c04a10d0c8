//! How a duration can be written: the controls of `fail/duration_*.rs` and `fail/lease_*.rs`.

#![deny(warnings)]

use std::time::Duration;

use idempotent_runtime::{Error, idempotent};

const DAY: Duration = Duration::from_hours(24);

struct Config {
    ttl: Duration,
}

impl Config {
    const TTL: Duration = DAY;

    fn lease(&self) -> Duration {
        DAY / 2
    }

    #[idempotent(prefix = "order", keys = [id], ttl = Self::TTL)]
    async fn constant_of_self(&self, id: u64) -> Result<(), Error> {
        Ok(())
    }

    #[idempotent(prefix = "order", keys = [id], ttl = self.ttl, lease = self.lease())]
    async fn field_and_method(&self, id: u64) -> Result<(), Error> {
        Ok(())
    }
}

fn longest() -> Duration {
    DAY
}

macro_rules! handlers {
    ($($name:ident: $ttl:tt)*) => {$(
        #[idempotent(prefix = "order", keys = [id], ttl = $ttl)]
        async fn $name(id: u64) -> Result<(), Error> {
            Ok(())
        }
    )*};
}

handlers! {
    weeks: 2w
    days: 7d
    hours: 24h
    minutes: 90m
    seconds: 3600s
    milliseconds: 500ms
    several_units: 1h30m
    many_units: 1w2d3h4m5s6ms
    digits_in_groups: 86_400s
    string: "1h 30m"
    string_in_one_word: "1h30m"
    shortest: 10ms
    longest_of_all: 36500d
    block: { DAY * 2 }
    constant: DAY
}

macro_rules! with_literal {
    ($ttl:literal, $lease:expr) => {
        #[idempotent(prefix = "order", keys = [id], ttl = $ttl, lease = $lease)]
        async fn from_fragments(id: u64) -> Result<(), Error> {
            Ok(())
        }
    };
}

with_literal!(24h, 30s);

#[idempotent(prefix = "order", keys = [id], ttl = longest())]
async fn call(id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = crate::DAY, lease = Duration::from_mins(5))]
async fn paths(id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, lease = 24h)]
async fn longest_lease(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {
    let _ = (weeks, days, hours, minutes, seconds, milliseconds, several_units, many_units, digits_in_groups);
    let _ = (string, string_in_one_word, shortest, longest_of_all, block, constant, from_fragments, call, paths);
    let _ = (longest_lease, Config::constant_of_self, Config::field_and_method, Config { ttl: DAY });
}
