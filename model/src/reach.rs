//! Which records the store's table can come to, and by which moves.

use std::collections::HashMap;

use crate::operation::{Operation, Reason, Request, Superseded};
use crate::record::{Age, Lease, Record, Who};
use crate::store_step::Table;

/// One move of a store: a message, or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// A call's message is applied.
    Ask(Who, Operation),
    /// Time passes.
    Pass(Time),
}

/// How much time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Time {
    /// More than half of the lease, or of the ttl; not the whole.
    Half,
    /// The rest of the lease.
    Lapse,
    /// The rest of the record's retention.
    Expire,
    /// More than two leases, less than the retention of a claim.
    TwoLeases,
}

/// The calls that a store is driven with.
#[derive(Clone, Copy, Debug)]
pub struct Cast {
    /// How many there are.
    pub calls: Who,
    /// How far attempts go.
    pub attempts: u8,
    /// The table, with the calls' fingerprints.
    pub table: Table,
}

/// A record that can be reached.
#[derive(Clone, Debug)]
pub struct Reached {
    /// It.
    pub record: Record,
    /// A shortest way to it from nothing.
    pub path: Vec<Move>,
}

impl Cast {
    /// `calls` calls with the given fingerprints.
    pub fn new(calls: Who, attempts: u8, fingerprints: [u8; 4]) -> Self {
        let table = Table { fingerprints, most: u8::MAX, without: crate::rules::Without::default() };
        Self { calls, attempts, table }
    }

    /// All that can happen to a record.
    pub fn moves(&self, record: Record) -> Vec<Move> {
        let asks = (0..self.calls).flat_map(|who| self.operations(who).into_iter().map(move |it| Move::Ask(who, it)));
        asks.chain(times(record).into_iter().map(Move::Pass)).collect()
    }

    /// What one call can ask for.
    fn operations(&self, who: Who) -> Vec<Operation> {
        // A message that repeats a claim says the same; a store must not rely on it, so each says the opposite too.
        let begun = who == 0;
        let claim = |hold, max_attempts| Operation::Claim(Request { hold, max_attempts, supersede: None, begun });
        let otherwise = Request { hold: false, max_attempts: None, supersede: None, begun: !begun };
        let mut operations = vec![
            claim(false, None),
            claim(true, None),
            claim(false, Some(2)),
            Operation::Claim(otherwise),
            Operation::Begin,
            Operation::Renew,
            Operation::Complete,
            Operation::Release(Reason::Failed),
            Operation::Release(Reason::GivenUp),
            Operation::PutBack { superseded: None },
        ];
        for other in (0..self.calls).filter(|other| *other != who) {
            let supersede = Some(other);
            operations.push(Operation::Claim(Request { hold: false, max_attempts: None, supersede, begun }));
        }
        // As the guard does: the record goes back under the token of the call that puts it back.
        let value = (0..self.calls).find(|other| *other != who).unwrap_or(who);
        operations.push(Operation::PutBack { superseded: Some(Superseded { token: who, value, attempt: 1 }) });
        operations
    }

    /// The record after a move; `None` where attempts go too far.
    pub fn after(&self, record: Record, the_move: Move) -> Option<Record> {
        let after = match the_move {
            Move::Ask(who, operation) => self.table.step(record, who, operation).1,
            Move::Pass(time) => passed(record, time),
        };
        let attempt = match after {
            Record::InProgress { claim, .. } => claim.attempt,
            Record::Failed { attempt, .. } | Record::Completed { attempt, .. } => attempt,
            Record::Absent => 0,
        };
        (attempt <= self.attempts).then_some(after)
    }

    /// Every record that can be reached.
    pub fn reachable(&self) -> Vec<Reached> {
        let mut from: HashMap<Record, Option<(Record, Move)>> = HashMap::from([(Record::Absent, None)]);
        let mut found = vec![Record::Absent];
        let mut at = 0;
        while let Some(record) = found.get(at).copied() {
            for the_move in self.moves(record) {
                if let Some(after) = self.after(record, the_move)
                    && !from.contains_key(&after)
                {
                    from.insert(after, Some((record, the_move)));
                    found.push(after);
                }
            }
            at += 1;
        }
        found.into_iter().map(|record| Reached { record, path: path(record, &from) }).collect()
    }
}

fn path(mut record: Record, from: &HashMap<Record, Option<(Record, Move)>>) -> Vec<Move> {
    let mut path = Vec::new();
    while let Some((before, the_move)) = from[&record] {
        path.push(the_move);
        record = before;
    }
    path.reverse();
    path
}

/// What time can do to a record.
fn times(record: Record) -> Vec<Time> {
    match record {
        Record::Absent => vec![],
        Record::InProgress { claim, lease, .. } if claim.is_live(lease) => match lease {
            Lease::Fresh => vec![Time::Half, Time::Lapse],
            _ => vec![Time::Lapse],
        },
        Record::InProgress { .. } | Record::Failed { .. } | Record::Completed { age: Age::Old, .. } => {
            vec![Time::Expire]
        }
        Record::Completed { .. } => vec![Time::Half, Time::Expire],
    }
}

/// The record after that time; it is one of `times`, or two leases.
pub fn passed(record: Record, time: Time) -> Record {
    match (record, time) {
        (Record::InProgress { claim, below, .. }, Time::Half) => {
            Record::InProgress { claim, lease: Lease::Ageing, below }
        }
        (Record::InProgress { claim, below, .. }, Time::Lapse) => {
            Record::InProgress { claim, lease: Lease::Lapsed, below }
        }
        (Record::Completed { token, value, attempt, .. }, Time::Half) => {
            Record::Completed { token, value, attempt, age: Age::Old }
        }
        (Record::Failed { brief: false, .. }, Time::TwoLeases) => record,
        (_, Time::Expire) | (Record::Failed { .. }, Time::TwoLeases) => Record::Absent,
        (other, _) => other,
    }
}
