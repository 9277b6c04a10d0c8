//! What a store is asked, and what it answers.

use crate::record::{Found, Who};

/// One operation of the trait `Store`. Its token is the caller's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `claim`.
    Claim(Request),
    /// `begin`.
    Begin,
    /// `renew`.
    Renew,
    /// `complete`, with the caller's number as the value.
    Complete,
    /// `release`.
    Release(Reason),
    /// `put_back`.
    PutBack {
        /// The completed record that the claim had superseded.
        superseded: Option<Superseded>,
    },
    /// Writes the claim over whatever stands: what a take-over is that reads, decides and then writes. No store may
    /// offer it; see [`Rule::TakeoverIsOneStep`](crate::rules::Rule::TakeoverIsOneStep).
    WriteClaim(Request),
}

/// What a call asks for when it claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// `on_lapse = Hold`: a lapsed claim that had begun is left for a person.
    pub hold: bool,
    /// How many runs may start.
    pub max_attempts: Option<u8>,
    /// Replace the completed record of this token.
    pub supersede: Option<Who>,
    /// Count the claim as begun at once.
    pub begun: bool,
}

/// Why a claim is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The run failed.
    Failed,
    /// The run stopped where nobody can know what it did.
    GivenUp,
}

/// A completed record that a claim has superseded, as `put_back` is given it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Superseded {
    /// The token that the record shall have.
    pub token: Who,
    /// What it answers duplicates with.
    pub value: Who,
    /// How many runs had started.
    pub attempt: u8,
}

/// What a store answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// To a claim: it is the call's own.
    Acquired {
        /// Which run of the record it is.
        attempt: u8,
        /// What stood there before.
        found: Found,
        /// Whether the lease started with this answer. It always does; see
        /// [`Rule::OwnClaimIsWritten`](crate::rules::Rule::OwnClaimIsWritten).
        leased: bool,
    },
    /// To a claim: another's live claim stands.
    InProgress {
        /// Which run it is.
        attempt: u8,
        /// Who has it.
        owner: Who,
    },
    /// To a claim: the record is completed.
    Completed(Superseded),
    /// To a claim: the fingerprints differ.
    Mismatch,
    /// To a claim: no attempt is left.
    Exhausted {
        /// How many have started.
        attempt: u8,
    },
    /// To a claim: a begun run has lapsed, and is held.
    Abandoned {
        /// Which run it was.
        attempt: u8,
        /// Who had it.
        owner: Who,
    },
    /// To a claim that reads and decides elsewhere: what stands there may be taken. No store may answer so.
    MayBeTaken,
    /// The record is the call's own, and the operation is done.
    Held,
    /// It is not; with the value and the token of the completed record, where a completion finds one.
    Lost(Option<Superseded>),
    /// To a completion: there is no record.
    Absent,
}
