//! The whole state: the record, the calls with their messages, and what has happened.

use crate::history::History;
use crate::network::Message;
use crate::operation::{Answer, Reason};
use crate::record::{ANEW, Age, Claim, Found, Lease, Record, Standing, Who, call_of};
use crate::setting::{Earlier, MOST_CALLS, Setting};
use crate::step::{Existing, Step};
use crate::worker::{Belief, Heard, Phase, Worker};

/// Everything that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// What stands under the key.
    pub record: Record,
    /// The calls.
    pub workers: [Worker; MOST_CALLS],
    /// What has happened.
    pub history: History,
}

impl State {
    /// No call of the setting has been made.
    pub fn start(setting: &Setting) -> Self {
        let mut state =
            Self { record: Record::Absent, workers: [Worker::IDLE; MOST_CALLS], history: History::default() };
        // The last call that there is room for.
        let token = ANEW - 1;
        state.record = match setting.earlier {
            Earlier::Nothing => return state,
            Earlier::OpenRun => {
                let (standing, found) = (Standing::Begun, Found::Absent);
                let claim = Claim { token, attempt: 1, standing, found, restores: true };
                Record::InProgress { claim, lease: Lease::Lapsed, below: None }
            }
            Earlier::FailedRun => Record::Failed { token, attempt: 1, brief: false },
        };
        let worker = state.worker_mut(token);
        worker.phase = Phase::Ended;
        (worker.past.started, worker.past.ran) = (true, true);
        worker.past.open = setting.earlier == Earlier::OpenRun;
        state
    }

    /// The call of that number.
    pub fn worker(&self, who: Who) -> &Worker {
        &self.workers[usize::from(call_of(who))]
    }

    fn worker_mut(&mut self, who: Who) -> &mut Worker {
        &mut self.workers[usize::from(call_of(who))]
    }

    /// The calls whose body may be polled now.
    pub fn believers(&self, setting: &Setting) -> impl Iterator<Item = Who> {
        let may_poll = |who: &usize| self.workers[*who].may_poll(setting) && !self.workers[*who].past.bereft;
        (0..setting.calls).filter(may_poll).filter_map(|who| Who::try_from(who).ok())
    }

    /// What a step comes to; it has been found possible by [`State::steps`](State::steps).
    #[must_use]
    pub fn after(mut self, step: Step, setting: &Setting) -> Self {
        match step {
            Step::Call(who) => self.worker_mut(who).call(setting),
            Step::Answer(who) => self.answer(who, setting),
            Step::Stray(who, message) => {
                self.apply(who, message, setting);
            }
            Step::Hear(who) => self.hear(who, setting),
            Step::Ask(who, existing) => self.ask(who, existing, setting),
            Step::Poll { who, effect } => self.poll(who, effect, setting),
            Step::Return(who) => self.worker_mut(who).complete(),
            Step::Fail(who) => {
                self.worker_mut(who).past.open = false;
                self.worker_mut(who).release(Reason::Failed);
            }
            Step::Deadline(who) => self.worker_mut(who).belief = Belief::No,
            Step::Drop(who) => self.worker_mut(who).drop(setting.policy(who), setting),
            Step::Forget(who) => {
                let worker = self.worker_mut(who);
                // Nobody takes a begun mark away any more, though nothing ran and the process lives.
                worker.past.started &= worker.phase != Phase::PuttingBack;
                worker.end();
            }
            Step::ClaimAgain(who) => self.worker_mut(who).phase = Phase::Claiming,
            Step::Crash(who) => self.worker_mut(who).crash(),
            Step::Stop(who) => self.worker_mut(who).stopped = true,
            Step::GoOn(who) => self.worker_mut(who).stopped = false,
            Step::Age => self.record = aged(self.record),
            Step::Lapse => self.lapse(setting),
            Step::Expire => {
                self.let_messages_die(setting);
                let before = std::mem::replace(&mut self.record, Record::Absent);
                self.note_expiry(before, setting);
            }
            Step::Empty => {
                self.record = Record::Absent;
                self.note_restart();
            }
            Step::Undo => {
                self.history.effect = false;
                self.history.undone = true;
                self.workers.iter_mut().for_each(|worker| worker.past.open = false);
            }
        }
        self
    }

    /// The store applies a message.
    fn apply(&mut self, who: Who, message: Message, setting: &Setting) -> Answer {
        let before = self.record;
        let operation = self.worker(who).operation(who, message, setting);
        let token = message.token(who);
        let (answer, after) = setting.table().step(before, token, operation);
        self.record = after;
        let renewed = matches!(answer, Answer::Acquired { leased: true, .. } | Answer::Held);
        if after != before || (renewed && after.live() == Some(token)) {
            self.workers.iter_mut().for_each(Worker::record_is_written);
        }
        self.note(who, message, answer, before, setting);
        answer
    }

    fn answer(&mut self, who: Who, setting: &Setting) {
        if let Some(message) = self.worker(who).awaits() {
            let answer = self.apply(who, message, setting);
            let worker = self.worker_mut(who);
            worker.answer(message, answer, setting.policy(who), setting);
            if worker.heard.is_none() && !setting.faults.repeat {
                worker.sent.remove([message]);
                worker.sent.extend(worker.awaits());
            }
        }
    }

    fn hear(&mut self, who: Who, setting: &Setting) {
        let effect = self.history.effect;
        let worker = self.worker_mut(who);
        if let Some(heard) = worker.heard.take() {
            if !setting.faults.repeat {
                worker.sent.remove(worker.awaits());
            }
            worker.hear(heard, effect, setting.policy(who), setting);
        }
    }

    fn ask(&mut self, who: Who, existing: Existing, setting: &Setting) {
        let worker = self.worker_mut(who);
        match existing {
            Existing::There => worker.complete(),
            Existing::NotThere => worker.about_to_run(setting.policy(who), setting),
            Existing::Unknown => worker.put_back(),
        }
    }

    fn poll(&mut self, who: Who, makes_effect: bool, setting: &Setting) {
        if let Phase::Running { effect, .. } = self.worker(who).phase {
            self.worker_mut(who).phase = Phase::Running { polled: true, effect: effect || makes_effect };
            self.note_poll(who, makes_effect, setting);
        }
    }

    fn lapse(&mut self, setting: &Setting) {
        if let Record::InProgress { lease, .. } = &mut self.record {
            *lease = Lease::Lapsed;
        }
        self.workers.iter_mut().for_each(|worker| worker.lease_passes(setting));
        self.let_messages_die(setting);
    }

    fn let_messages_die(&mut self, setting: &Setting) {
        if !setting.faults.ancient {
            let owner = self.record.token();
            for (who, worker) in (0..).zip(&mut self.workers) {
                worker.messages_die(owner == Some(who));
            }
        }
    }
}

fn aged(record: Record) -> Record {
    match record {
        Record::InProgress { claim, lease: Lease::Fresh, below } => {
            Record::InProgress { claim, lease: Lease::Ageing, below }
        }
        Record::Completed { token, value, attempt, age: Age::Young } => {
            Record::Completed { token, value, attempt, age: Age::Old }
        }
        other => other,
    }
}

/// Whether a deadline can pass for this call.
pub(crate) fn has_deadline(worker: &Worker) -> bool {
    worker.belief != Belief::No && !worker.stopped
}

/// Whether an answer is on its way.
pub(crate) fn hears(worker: &Worker) -> Option<Heard> {
    worker.heard.filter(|_| !worker.stopped)
}
