//! The store's step: what each operation answers in each state, and what stands there afterwards.
//!
//! The arms of each `match` are the rows of the tables in the documentation of `idempotent_runtime::Store`, in the same
//! order. Real stores are held against this file by [`drive`](crate::drive). A rule that a variant leaves out stands
//! beside the row that it belongs to.

use crate::operation::{Answer, Operation, Reason, Request, Superseded};
use crate::record::{Age, Claim, Found, Lease, Record, Standing, Who, call_of};
use crate::rules::{Rule, Without};

/// What a step needs to know besides the record and the operation.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The fingerprint of each call's arguments.
    pub fingerprints: [u8; 4],
    /// Attempts beyond this one are not told apart, so that the states are finite.
    pub most: u8,
    /// The rules that are left out.
    pub without: Without,
}

impl Table {
    /// One atomic step: the answer, and the record afterwards.
    pub fn step(&self, record: Record, who: Who, operation: Operation) -> (Answer, Record) {
        match operation {
            Operation::Claim(request) => self.claim(record, who, request),
            Operation::Begin => begin(record, who),
            Operation::Renew => self.renew(record, who),
            Operation::Complete => self.complete(record, who),
            Operation::Release(reason) => self.release(record, who, reason),
            Operation::PutBack { superseded } => self.put_back(record, who, superseded),
            Operation::WriteClaim(request) => self.acquire(who, request, 1, Found::Absent, None),
        }
    }

    fn claim(&self, record: Record, who: Who, request: Request) -> (Answer, Record) {
        match record {
            Record::Absent => self.acquire(who, request, 1, Found::Absent, None),

            Record::Failed { token, .. } if token == who && !self.lacks(Rule::FailedOwnTokenIsLost) => {
                (Answer::Lost(None), record)
            }
            Record::Failed { attempt, .. } if request.no_attempt_after(attempt) => {
                (Answer::Exhausted { attempt }, record)
            }
            Record::Failed { attempt, .. } => self.acquire(who, request, attempt + 1, Found::Failed, None),

            Record::InProgress { claim, lease, below } if claim.token == who => {
                self.claim_again(claim, lease, below, request)
            }
            Record::InProgress { claim, .. } if self.differ(claim.token, who) => (Answer::Mismatch, record),
            Record::InProgress { claim, lease, .. } if claim.is_live(lease) && !self.reader_lapses(lease) => {
                (Answer::InProgress { attempt: claim.attempt, owner: claim.token }, record)
            }
            Record::InProgress { claim, below, .. } => self.take_over(record, claim, below, who, request),

            Record::Completed { token, attempt, .. }
                if token == who && self.lacks(Rule::CompletedOwnTokenIsADuplicate) =>
            {
                self.acquire(who, request, attempt + 1, Found::Completed, None)
            }
            Record::Completed { token, value, attempt, .. } if token == who => {
                (Answer::Completed(Superseded { token, value, attempt }), record)
            }
            Record::Completed { token, .. } if self.differ(token, who) => (Answer::Mismatch, record),
            Record::Completed { token, attempt, .. } if request.supersede == Some(token) => {
                self.acquire(who, request, attempt + 1, Found::Completed, None)
            }
            Record::Completed { token, value, attempt, .. } => {
                (Answer::Completed(Superseded { token, value, attempt }), record)
            }
        }
    }

    /// The answer was lost, and the call asks again.
    fn claim_again(&self, mut claim: Claim, lease: Lease, below: Option<Claim>, request: Request) -> (Answer, Record) {
        let (attempt, found) = (claim.attempt, claim.found);
        if claim.standing == Standing::GivenUp && !self.lacks(Rule::GivenUpStaysSo) {
            return (Answer::Lost(None), Record::InProgress { claim, lease, below });
        }
        if self.lacks(Rule::OwnClaimIsWritten) {
            return (Answer::Acquired { attempt, found, leased: false }, Record::InProgress { claim, lease, below });
        }
        if claim.standing == Standing::GivenUp || request.begun {
            claim.standing = Standing::Begun;
        }
        (Answer::Acquired { attempt, found, leased: true }, Record::InProgress { claim, lease: Lease::Fresh, below })
    }

    /// Another's claim has lapsed.
    fn take_over(
        &self,
        record: Record,
        lapsed: Claim,
        below: Option<Claim>,
        who: Who,
        request: Request,
    ) -> (Answer, Record) {
        let hides = |claim: Claim| {
            let over_a_run = claim.standing == Standing::Claimed && claim.found == Found::Lapsed { begun: true };
            over_a_run && !self.lacks(Rule::HiddenRunCounts)
        };
        // A claim that never began stands for what it had found.
        let run = below.filter(|_| hides(lapsed)).unwrap_or(lapsed);
        let begun = run.standing != Standing::Claimed;
        let runs = if begun { run.attempt } else { run.attempt.saturating_sub(1) };
        if request.no_attempt_after(runs) {
            return (Answer::Exhausted { attempt: runs }, record);
        }
        if begun && request.hold {
            return (Answer::Abandoned { attempt: run.attempt, owner: run.token }, record);
        }
        if self.lacks(Rule::TakeoverIsOneStep) {
            return (Answer::MayBeTaken, record);
        }
        // What the run itself could put back is not kept.
        let run = Claim { restores: false, ..run };
        self.acquire(who, request, runs + 1, Found::Lapsed { begun }, Some(run))
    }

    fn acquire(
        &self,
        token: Who,
        request: Request,
        attempt: u8,
        found: Found,
        below: Option<Claim>,
    ) -> (Answer, Record) {
        let standing = if request.begun { Standing::Begun } else { Standing::Claimed };
        let attempt = attempt.min(self.most);
        let claim = Claim { token, attempt, standing, found, restores: true };
        let record = Record::InProgress { claim, lease: Lease::Fresh, below };
        (Answer::Acquired { attempt, found, leased: true }, record)
    }

    fn renew(&self, record: Record, who: Who) -> (Answer, Record) {
        match record {
            Record::InProgress { claim, below, .. } if claim.belongs_to(who) => {
                (Answer::Held, Record::InProgress { claim, lease: Lease::Fresh, below })
            }
            Record::Completed { token, value, attempt, .. }
                if token == who && self.lacks(Rule::RenewalLeavesCompleted) =>
            {
                (Answer::Held, Record::Completed { token, value, attempt, age: Age::CutShort })
            }
            Record::Absent if self.lacks(Rule::RenewalCreatesNothing) => {
                let claim =
                    Claim { token: who, attempt: 1, standing: Standing::Begun, found: Found::Absent, restores: true };
                (Answer::Held, Record::InProgress { claim, lease: Lease::Fresh, below: None })
            }
            other => (Answer::Lost(None), other),
        }
    }

    fn complete(&self, record: Record, who: Who) -> (Answer, Record) {
        match record {
            Record::InProgress { claim, .. } if claim.belongs_to(who) => {
                let Claim { token, attempt, .. } = claim;
                (Answer::Held, Record::Completed { token, value: call_of(who), attempt, age: Age::Young })
            }
            Record::Completed { token, value, attempt, age } if token == who => {
                let age = if self.lacks(Rule::CompletionKeepsItsTtl) { Age::Young } else { age };
                (Answer::Held, Record::Completed { token, value, attempt, age })
            }
            Record::Absent => (Answer::Absent, record),
            Record::Completed { token, value, attempt, .. } => {
                (Answer::Lost(Some(Superseded { token, value, attempt })), record)
            }
            Record::Failed { .. } | Record::InProgress { .. } => (Answer::Lost(None), record),
        }
    }

    fn release(&self, record: Record, who: Who, reason: Reason) -> (Answer, Record) {
        match record {
            Record::InProgress { claim, below, .. }
                if claim.belongs_to(who)
                    && claim.standing == Standing::Claimed
                    && !self.lacks(Rule::ReleaseCountsRunsOnly) =>
            {
                (Answer::Held, self.undone(claim, below, None))
            }
            Record::InProgress { mut claim, lease, below } if claim.belongs_to(who) => match reason {
                Reason::Failed => (Answer::Held, Record::Failed { token: who, attempt: claim.attempt, brief: false }),
                Reason::GivenUp => {
                    claim.standing = Standing::GivenUp;
                    (Answer::Held, Record::InProgress { claim, lease, below })
                }
            },
            Record::InProgress { claim, .. } if claim.token == who => (Answer::Held, record),
            Record::Failed { token, .. } if token == who => (Answer::Held, record),
            Record::Absent => (Answer::Held, self.in_memory_of(who)),
            Record::Completed { token, .. } if token == who && self.lacks(Rule::ReleaseLeavesCompleted) => {
                (Answer::Held, Record::Absent)
            }
            other => (Answer::Lost(None), other),
        }
    }

    fn put_back(&self, record: Record, who: Who, superseded: Option<Superseded>) -> (Answer, Record) {
        match record {
            Record::InProgress { claim, below, .. } if claim.belongs_to(who) => {
                (Answer::Held, self.undone(claim, below, superseded))
            }
            Record::Absent => (Answer::Held, self.in_memory_of(who)),
            other => (Answer::Lost(None), other),
        }
    }

    /// What the claim had found.
    fn undone(&self, own: Claim, below: Option<Claim>, superseded: Option<Superseded>) -> Record {
        let (token, attempt) = (own.token, own.attempt.saturating_sub(1));
        if !own.restores {
            // The run that it had found is kept no more, and nobody knows its end: this record stands for it.
            return if own.found == (Found::Lapsed { begun: true }) && !self.lacks(Rule::RunBelowStaysOpen) {
                let claim = Claim { attempt, standing: Standing::GivenUp, ..own };
                Record::InProgress { claim, lease: Lease::Lapsed, below: None }
            } else {
                self.without_a_run(token, attempt)
            };
        }
        match (own.found, below, superseded) {
            (Found::Failed, ..) if self.lacks(Rule::PutBackMarksFailed) => {
                Record::Failed { token: other_than(token), attempt, brief: false }
            }
            (Found::Failed, ..) => Record::Failed { token, attempt, brief: false },
            (Found::Lapsed { .. }, ..) if self.lacks(Rule::PutBackKeepsTheRun) => {
                Record::Failed { token, attempt: 0, brief: true }
            }
            (Found::Lapsed { .. }, Some(claim), _) => Record::InProgress { claim, lease: Lease::Lapsed, below: None },
            (Found::Completed, _, Some(Superseded { token, value, attempt })) => {
                Record::Completed { token, value, attempt, age: Age::Young }
            }
            (Found::Absent | Found::Lapsed { .. } | Found::Completed, ..) => self.without_a_run(token, attempt),
        }
    }

    /// A failed record of a claim that did not run, with the attempts before it. Where there were none, only the token is
    /// worth remembering.
    fn without_a_run(&self, token: Who, attempt: u8) -> Record {
        Record::Failed { token, attempt, brief: attempt == 0 || self.lacks(Rule::AttemptsAreRemembered) }
    }

    fn in_memory_of(&self, token: Who) -> Record {
        if self.lacks(Rule::AbsentIsRemembered) { Record::Absent } else { self.without_a_run(token, 0) }
    }

    fn differ(&self, one: Who, another: Who) -> bool {
        self.fingerprints[usize::from(call_of(one))] != self.fingerprints[usize::from(call_of(another))]
    }

    fn reader_lapses(&self, lease: Lease) -> bool {
        lease == Lease::Ageing && self.lacks(Rule::LeaseIsTheWriters)
    }

    fn lacks(&self, rule: Rule) -> bool {
        self.without.lacks(rule)
    }
}

fn begin(record: Record, who: Who) -> (Answer, Record) {
    match record {
        Record::InProgress { mut claim, lease, below } if claim.token == who && claim.is_live(lease) => {
            claim.standing = Standing::Begun;
            (Answer::Held, Record::InProgress { claim, lease: Lease::Fresh, below })
        }
        other => (Answer::Lost(None), other),
    }
}

/// Some call that is not this one.
fn other_than(token: Who) -> Who {
    u8::from(token == 0)
}

impl Request {
    fn no_attempt_after(self, attempt: u8) -> bool {
        self.max_attempts.is_some_and(|most| attempt >= most)
    }
}
