//! Everything that is written down.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Moment;

/// The number of an operation of the store, of a call, or of a run, within its process.
pub(crate) type Op = u64;

/// One event. Numbers of calls and operations are those of the process that writes; a run's number is its own alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    // By a process of consumers.
    /// The first one: who writes.
    Process(u32),
    /// A guarded call begins.
    Call { call: Op, key: u64, message: u64 },
    /// It has ended: with an outcome, or `dropped` by its caller. A value is what the caller got.
    Answer { call: Op, outcome: String, value: Option<u64>, settles: bool },
    /// The handler starts.
    Start { run: u64, call: Op, key: u64, attempt: u32, fence: Option<u64> },
    /// It is about to have an effect.
    Effect { run: u64 },
    /// It returns.
    End { run: u64 },
    /// An operation goes to the store.
    Sent { op: Op, call: Option<Op>, key: u64, token: String, asked: Asked },
    /// The store has answered it.
    Received { op: Op, reply: Reply },

    // By the one who does the harm.
    /// Keys below this number are published, each with so many messages.
    Published { keys: u64 },
    /// An effect has come to the sink.
    Presented { key: u64, run: u64, fence: Option<u64>, accepted: bool },
    /// Harm is done.
    Fault { kind: String, target: String },
    /// A process is going to stand still.
    Stopped { process: u32 },
    /// It goes on.
    Resumed { process: u32 },
    /// A process is killed.
    Killed { process: u32 },
    /// What the servers in charge held at this moment, of all keys from `from` on.
    Dump { from: u64, records: BTreeMap<u64, Held> },
    /// A server has taken over from another, in a trouble that began then and ends now: what was acknowledged around it
    /// can have been lost.
    Failover { began: Moment },
    /// The last one: all is settled, and nobody calls any more.
    Over,
}

/// What was asked of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Asked {
    Claim,
    Begin,
    Renew,
    /// With the value that is to be recorded.
    Complete(Option<u64>),
    Release,
    PutBack,
}

/// What it answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The claim is the caller's.
    Acquired {
        attempt: u32,
    },
    /// The key is completed, with this value.
    Completed(Option<u64>),
    Held,
    Lost,
    Absent,
    /// Any other answer to a claim.
    Not(String),
    Error(String),
}

/// A record, as a server holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) token: String,
    pub(crate) attempt: u32,
    pub(crate) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    /// Last renewed so many milliseconds before.
    InProgress {
        renewed_ago: u64,
    },
    GivenUp,
    Failed,
    Completed(Option<u64>),
}
