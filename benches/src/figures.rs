//! What was measured. Serialised, it is the object that `--json` prints.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::compile::Compile;
use crate::million::Million;
use crate::spread::Spread;
use crate::sql::Sql;
use crate::sweep::Sweep;

/// All figures; `None` for what was not measured here.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Figures {
    /// Guarded first calls a second over those of hand-written code, by calls in flight.
    pub(crate) first_call: Option<ByInFlight<f64>>,
    /// The same for duplicates.
    pub(crate) duplicate: Option<ByInFlight<f64>>,
    /// Guarded first calls a second over those of hand-written code on a Cluster, by calls in flight.
    pub(crate) cluster: Option<ByInFlight<f64>>,
    /// Nanoseconds of one duplicate of a record that is cached in the process.
    pub(crate) cached_duplicate_ns: Option<f64>,
    /// A thousand duplicates in flight of a run in progress: their throughput where one asks for all, over that where each
    /// asks.
    pub(crate) collapsed_busy: Option<f64>,
    /// The same for a thousand calls that come together, and wait for the first one's value.
    pub(crate) collapsed_waiting: Option<f64>,
    /// Claims of one key, at the most, where one asks for all.
    pub(crate) collapsed_claims: Option<f64>,
    /// First calls a second of steps, whose records are fields of Hashes, over those of calls whose records are strings, by
    /// calls in flight.
    pub(crate) hash_layout: Option<ByInFlight<f64>>,
    /// Duplicates a second on Redis in front of SQLite, over those on Redis alone, by calls in flight.
    pub(crate) tiered_duplicate: Option<ByInFlight<f64>>,
    /// Nanoseconds of one first call on the memory store.
    pub(crate) memory_call_ns: Option<f64>,
    /// Allocations of one first call on the memory store.
    pub(crate) memory_call_allocations: Option<f64>,
    /// Instructions of one first call on the memory store; `None` where no tool counts them.
    pub(crate) memory_call_instructions: Option<u64>,
    /// First requests a second behind the layer over those of the bare handler: with a user's client, on all cores.
    pub(crate) http_first_call: Option<f64>,
    /// The same for replays.
    pub(crate) http_replay: Option<f64>,
    /// First requests a second behind the layer over those of the bare handler, of one server's thread alone.
    pub(crate) http_server_first_call: Option<f64>,
    /// The same for replays.
    pub(crate) http_server_replay: Option<f64>,
    /// The same for first requests behind what people write by hand.
    pub(crate) http_server_by_hand: Option<f64>,
    /// Bytes that Redis uses for one completed record.
    pub(crate) record_bytes: Option<f64>,
    /// Bytes that Redis uses for the bare result under the same key.
    pub(crate) plain_set_bytes: Option<f64>,
    /// Bytes that the attribute adds to a future.
    pub(crate) future_bytes: Option<f64>,
    /// What the attribute adds to the time of a build; one for each shape of the crates.
    pub(crate) compile: Vec<Compile>,
    /// The least and the largest of what the medians above are of.
    pub(crate) spreads: Spreads,
    /// Calls a second, from which the ratios are taken.
    pub(crate) calls_per_second: CallsPerSecond,
    /// What was measured on PostgreSQL and on SQLite files.
    pub(crate) sql: Option<Sql>,
    /// What sweeping does on PostgreSQL.
    pub(crate) sweep: Option<Sweep>,
    /// The command line on a Redis with many records.
    pub(crate) million: Option<Million>,
    /// What the figures of Redis were measured on.
    pub(crate) redis: Option<Bed>,
}

/// A figure for each number of calls in flight.
pub(crate) type ByInFlight<T> = BTreeMap<usize, T>;

#[derive(Debug, Default, Serialize)]
pub(crate) struct Spreads {
    pub(crate) first_call: ByInFlight<[f64; 2]>,
    pub(crate) duplicate: ByInFlight<[f64; 2]>,
    pub(crate) cluster: ByInFlight<[f64; 2]>,
    pub(crate) cached_duplicate_ns: Option<[f64; 2]>,
    pub(crate) collapsed_busy: Option<[f64; 2]>,
    pub(crate) collapsed_waiting: Option<[f64; 2]>,
    pub(crate) hash_layout: ByInFlight<[f64; 2]>,
    pub(crate) tiered_duplicate: ByInFlight<[f64; 2]>,
    pub(crate) memory_call_ns: Option<[f64; 2]>,
    pub(crate) http_first_call: Option<[f64; 2]>,
    pub(crate) http_replay: Option<[f64; 2]>,
    pub(crate) http_server_first_call: Option<[f64; 2]>,
    pub(crate) http_server_replay: Option<[f64; 2]>,
    pub(crate) http_server_by_hand: Option<[f64; 2]>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct CallsPerSecond {
    pub(crate) first_call: ByInFlight<Rates>,
    pub(crate) duplicate: ByInFlight<Rates>,
    pub(crate) cluster: ByInFlight<Rates>,
    pub(crate) hash_layout: ByInFlight<Rates>,
    pub(crate) tiered_duplicate: ByInFlight<Rates>,
    pub(crate) http: Rates,
    pub(crate) http_server: Rates,
}

/// Calls a second, by who made them.
pub(crate) type Rates = BTreeMap<&'static str, Spread>;

/// What a measurement on Redis ran on.
#[derive(Debug, Serialize)]
pub(crate) struct Bed {
    /// Which server.
    pub(crate) server: String,
    /// Server and client had a core each.
    pub(crate) pinned: bool,
}
