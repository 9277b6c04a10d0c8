//! The record: what a store keeps under the one key of the model.

/// Who owns a claim: the number of the call, which is also its token and the value that its run returns.
pub type Who = u8;

/// A second token of the same call: a run whose record is gone is recorded by a fresh claim.
pub const ANEW: Who = 4;

/// Which call a token belongs to.
pub const fn call_of(token: Who) -> Who {
    token % ANEW
}

/// What stands under the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Record {
    /// Nothing.
    Absent,
    /// A claim.
    InProgress {
        /// The claim.
        claim: Claim,
        /// How its lease stands, by the store's clock.
        lease: Lease,
        /// The lapsed claim that it took over, which `put_back` restores.
        below: Option<Claim>,
    },
    /// A claim that was released or put back.
    Failed {
        /// Whose.
        token: Who,
        /// How many runs have started.
        attempt: u8,
        /// Kept for two leases only, in memory of a token under which nothing has run; otherwise for its retention.
        brief: bool,
    },
    /// A run that has completed.
    Completed {
        /// Whose record it is.
        token: Who,
        /// What duplicates are answered with.
        value: Who,
        /// How many runs have started.
        attempt: u8,
        /// How much of its ttl has passed.
        age: Age,
    },
}

/// A claim, apart from its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// Whose it is.
    pub token: Who,
    /// Which run of the record it is, from 1.
    pub attempt: u8,
    /// How far it has come.
    pub standing: Standing,
    /// What it found.
    pub found: Found,
    /// It can put that back. A claim that was itself put back cannot.
    pub restores: bool,
}

/// How far a claim has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Claimed, and no more.
    Claimed,
    /// It counts as a run.
    Begun,
    /// Its run stopped where nobody can know what it did: lapsed, whatever the time.
    GivenUp,
}

/// What is left of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lease {
    /// More than half.
    Fresh,
    /// Less than half: a reader that judges by a shorter lease than the writer's would call it lapsed.
    Ageing,
    /// Nothing.
    Lapsed,
}

/// How much of a completed record's ttl has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Age {
    /// Less than half.
    Young,
    /// More than half.
    Old,
    /// Its expiry has been moved to that of a lease: no rule of the protocol does so.
    CutShort,
}

/// What a claim found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Found {
    /// Nothing.
    Absent,
    /// A failed record.
    Failed,
    /// A lapsed claim.
    Lapsed {
        /// Whether its run had begun.
        begun: bool,
    },
    /// A completed record, which `supersede` named.
    Completed,
}

impl Record {
    /// The call whose live claim stands.
    pub fn live(&self) -> Option<Who> {
        match self {
            Self::InProgress { claim, lease, .. } if claim.is_live(*lease) => Some(claim.token),
            _ => None,
        }
    }

    /// Whose record it is.
    pub fn token(&self) -> Option<Who> {
        match self {
            Self::Absent => None,
            Self::InProgress { claim, .. } => Some(claim.token),
            Self::Failed { token, .. } | Self::Completed { token, .. } => Some(*token),
        }
    }
}

impl Claim {
    /// Whether another call must leave it alone.
    pub fn is_live(&self, lease: Lease) -> bool {
        self.standing != Standing::GivenUp && lease != Lease::Lapsed
    }

    /// Whether neither it nor what it stands over has begun.
    pub fn is_no_open_run(&self) -> bool {
        self.standing == Standing::Claimed && self.found != (Found::Lapsed { begun: true })
    }

    /// Whether it is the call's own, and not given up.
    pub fn belongs_to(&self, who: Who) -> bool {
        self.token == who && self.standing != Standing::GivenUp
    }
}
