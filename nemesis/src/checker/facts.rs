//! What a history says, put in order: runs with their claims, writes that the store acknowledged, calls.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::history::{Asked, Entry, Event, Held, Histories, Moment, Op, Reply};

/// One run of a handler.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) number: u64,
    pub(super) key: u64,
    pub(super) process: u32,
    pub(super) attempt: u32,
    /// That of its claim.
    pub(super) token: String,
    /// When its claim was sent for the first time.
    pub(super) claimed: Moment,
    pub(super) started: Moment,
    /// When it last did something that others notice.
    pub(super) last: Moment,
}

/// Something that the store has acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) key: u64,
    pub(super) token: String,
    pub(super) attempt: u32,
    pub(super) kind: Kind,
    pub(super) sent: Moment,
    pub(super) acknowledged: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Claim,
    Renewal,
    Completion,
}

/// One guarded call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) key: u64,
    pub(super) message: u64,
    pub(super) process: u32,
    pub(super) began: Moment,
    pub(super) run: Option<u64>,
    pub(super) answer: Option<Answer>,
}

#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) at: Moment,
    pub(super) outcome: String,
    pub(super) value: Option<u64>,
    pub(super) settles: bool,
}

/// An effect, as it came to the sink.
#[derive(Clone, Copy, Debug)]
pub(super) struct Presented {
    pub(super) at: Moment,
    pub(super) key: u64,
    pub(super) run: u64,
    pub(super) fence: Option<u64>,
    pub(super) accepted: bool,
}

/// What servers held.
#[derive(Clone, Debug)]
pub(super) struct Dump {
    pub(super) at: Moment,
    pub(super) from: u64,
    pub(super) records: BTreeMap<u64, Held>,
}

#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Keys below this number were published.
    pub(super) keys: u64,
    pub(super) runs: Vec<Run>,
    pub(super) writes: Vec<Write>,
    pub(super) calls: Vec<Call>,
    /// Tokens of claims that were put back, or tried to be.
    pub(super) put_back: HashSet<String>,
    /// Values that were to be recorded, by keys.
    pub(super) sent_values: HashMap<u64, HashSet<u64>>,
    pub(super) dumps: Vec<Dump>,
    /// When failovers began and were over.
    pub(super) failovers: Vec<(Moment, Moment)>,
    /// Effects as they came to the sink.
    pub(super) presented: Vec<Presented>,
    /// When processes stood still.
    stops: HashMap<u32, Vec<(Moment, Moment)>>,
    pub(super) killed: HashSet<u32>,
    /// Whether the history has its end.
    pub(super) over: bool,
    /// Recorded values that the store told to duplicates: key, value, and when that was asked and answered.
    told: Vec<(u64, u64, Moment, Moment)>,
}

impl Facts {
    pub(super) fn of(histories: &Histories) -> Self {
        let mut facts = Self::default();
        for (at, event) in &histories.nemesis {
            facts.hear_nemesis(*at, event);
        }
        for (process, entries) in &histories.processes {
            Process::new(*process).hear(entries, &mut facts);
        }
        facts.hear_duplicates();
        facts
    }

    /// What a duplicate was told is acknowledged too, though the one who wrote it may never have heard.
    fn hear_duplicates(&mut self) {
        let runs: HashMap<u64, &Run> = self.runs.iter().map(|run| (run.number, run)).collect();
        let completion = |&(key, value, sent, acknowledged): &(u64, u64, Moment, Moment)| {
            let run = runs.get(&value)?;
            let (token, attempt, kind) = (run.token.clone(), run.attempt, Kind::Completion);
            Some(Write { key, token, attempt, kind, sent, acknowledged })
        };
        let told: Vec<_> = self.told.iter().filter_map(completion).collect();
        self.writes.extend(told);
    }

    fn hear_nemesis(&mut self, at: Moment, event: &Event) {
        match event {
            Event::Published { keys } => self.keys = *keys,
            Event::Presented { key, run, fence, accepted } => {
                self.presented.push(Presented { at, key: *key, run: *run, fence: *fence, accepted: *accepted });
            }
            Event::Stopped { process } => self.stops.entry(*process).or_default().push((at, Moment::MAX)),
            Event::Resumed { process } => {
                if let Some(stop) = self.stops.get_mut(process).and_then(|stops| stops.last_mut()) {
                    stop.1 = at;
                }
            }
            Event::Killed { process } => drop(self.killed.insert(*process)),
            Event::Dump { from, records } => self.dumps.push(Dump { at, from: *from, records: records.clone() }),
            Event::Failover { began } => self.failovers.push((*began, at)),
            Event::Over => self.over = true,
            _ => {}
        }
    }

    /// Whether a process stood still in that time.
    pub(super) fn stood_still(&self, process: u32, from: Moment, to: Moment) -> bool {
        self.stops.get(&process).is_some_and(|stops| stops.iter().any(|stop| stop.0 <= to && from <= stop.1))
    }
}

/// One process of consumers, while its file is read.
struct Process {
    number: u32,
    sent: HashMap<Op, (Moment, Option<Op>, u64, String, Asked)>,
    /// When each token's claim was first sent.
    claimed: HashMap<String, Moment>,
    attempts: HashMap<String, u32>,
    /// The token that each call holds, and where the call is in the facts.
    held: HashMap<Op, String>,
    calls: HashMap<Op, usize>,
    runs: HashMap<u64, usize>,
}

impl Process {
    fn new(number: u32) -> Self {
        let (sent, claimed, attempts) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (held, calls, runs) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { number, sent, claimed, attempts, held, calls, runs }
    }

    fn hear(&mut self, entries: &[Entry], facts: &mut Facts) {
        for (at, event) in entries {
            self.hear_event(*at, event, facts);
        }
    }

    fn hear_event(&mut self, at: Moment, event: &Event, facts: &mut Facts) {
        match event {
            Event::Call { call, key, message } => {
                self.calls.insert(*call, facts.calls.len());
                let (key, message, process) = (*key, *message, self.number);
                facts.calls.push(Call { key, message, process, began: at, run: None, answer: None });
            }
            Event::Answer { call, outcome, value, settles } => {
                let answer = Answer { at, outcome: outcome.clone(), value: *value, settles: *settles };
                facts.calls[self.calls[call]].answer = Some(answer);
            }
            Event::Start { run, call, key, attempt, .. } => {
                facts.calls[self.calls[call]].run = Some(*run);
                let token = self.held.get(call).cloned().unwrap_or_default();
                let claimed = self.claimed.get(&token).copied().unwrap_or(at);
                self.runs.insert(*run, facts.runs.len());
                let (number, key, process, attempt) = (*run, *key, self.number, *attempt);
                facts.runs.push(Run { number, key, process, attempt, token, claimed, started: at, last: at });
            }
            Event::Effect { run } | Event::End { run } => facts.runs[self.runs[run]].last = at,
            Event::Sent { op, call, key, token, asked } => {
                match asked {
                    Asked::Claim => drop(self.claimed.entry(token.clone()).or_insert(at)),
                    Asked::PutBack => drop(facts.put_back.insert(token.clone())),
                    Asked::Complete(Some(value)) => drop(facts.sent_values.entry(*key).or_default().insert(*value)),
                    _ => {}
                }
                self.sent.insert(*op, (at, *call, *key, token.clone(), *asked));
            }
            Event::Received { op, reply } => self.hear_reply(at, *op, reply, facts),
            _ => {}
        }
    }

    fn hear_reply(&mut self, at: Moment, op: Op, reply: &Reply, facts: &mut Facts) {
        let Some((sent, call, key, token, asked)) = self.sent.remove(&op) else { return };
        let kind = match (asked, reply) {
            (Asked::Claim, Reply::Acquired { attempt }) => {
                self.attempts.insert(token.clone(), *attempt);
                if let Some(call) = call {
                    self.held.insert(call, token.clone());
                }
                Kind::Claim
            }
            (Asked::Claim, Reply::Completed(Some(value))) => return facts.told.push((key, *value, sent, at)),
            (Asked::Renew, Reply::Held) => Kind::Renewal,
            (Asked::Complete(_), Reply::Held) => Kind::Completion,
            _ => return,
        };
        let attempt = self.attempts.get(&token).copied().unwrap_or(1);
        facts.writes.push(Write { key, token, attempt, kind, sent, acknowledged: at });
    }
}
