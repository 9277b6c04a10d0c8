//! What has happened, as far as the properties need it: no part of the protocol, and nothing that it may look at.

use crate::network::Message;
use crate::operation::{Answer, Operation};
use crate::record::{Age, Record, Who, call_of};
use crate::rules::Rule;
use crate::setting::Setting;
use crate::state::State;
use crate::worker::Phase;

/// What has happened to the key.
#[expect(clippy::struct_excessive_bools, reason = "facts, each so or not")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct History {
    /// The value of the completion whose ttl has not passed.
    pub done: Option<Who>,
    /// The business effect is there.
    pub effect: bool,
    /// The call whose release or `put_back` was done last, while nothing but time has passed since.
    pub buried: Option<Who>,
    /// The store was emptied.
    pub restarted: bool,
    /// The effect was undone.
    pub undone: bool,
    /// A claim was marked as begun by a message that its call no longer waits for: it counts as a run once more.
    pub begun_late: bool,
    /// The first promise that was broken.
    pub broken: Option<Broken>,
}

/// A promise that was broken by one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Broken {
    /// A body was polled within the ttl of a completion.
    RanWithinTtl,
    /// A live record was changed by another than its owner.
    LiveRecordChanged,
    /// A completed record was changed or removed within its ttl.
    CompletionChanged,
    /// A duplicate was told another value than the recorded one.
    WrongDuplicate,
    /// A message revived a claim that its call had given back, or made a record out of nothing.
    Revived,
    /// Under `hold` a body was polled although another run had been left open.
    RanTwiceUnderHold,
    /// Under `hold` or with `existing` the effect was made twice.
    EffectTwice,
    /// `Abandoned` was answered where nothing had been about to run.
    IndeterminateForNothing,
    /// `Exhausted` was answered where fewer runs had started.
    ExhaustedForNothing,
    /// More runs started than `max_attempts` allows.
    RanTooOften,
    /// The ttl of a completion has started a second time.
    TtlStartedAgain,
}

impl State {
    /// Notes the first promise that is broken.
    fn broke(&mut self, broken: Broken, setting: &Setting) {
        if !setting.spared.contains(&broken) {
            self.history.broken.get_or_insert(broken);
        }
    }

    /// An operation was applied to `before`, and answered.
    pub(crate) fn note(&mut self, who: Who, message: Message, answer: Answer, before: Record, setting: &Setting) {
        let operation = self.worker(who).operation(who, message, setting);
        let (after, token) = (self.record, message.token(who));
        if before.live().is_some_and(|owner| owner != token) && after != before {
            self.broke(Broken::LiveRecordChanged, setting);
        }
        if let Record::Completed { .. } = before {
            self.note_change_of_completion(token, operation, before, setting);
        } else if let Record::Completed { value, .. } = after {
            self.note_completion(who, operation, value, setting);
        }
        let may_create = matches!(operation, Operation::Claim(_) | Operation::Release(_) | Operation::PutBack { .. });
        if before == Record::Absent && after != Record::Absent && !may_create {
            self.broke(Broken::Revived, setting);
        }
        if after.live() == Some(token) && self.history.buried == Some(token) {
            self.broke(Broken::Revived, setting);
        }
        self.note_burial(who, operation, answer);
        self.note_begin(who, message, before, setting);
        if message != Message::ClaimAnew {
            self.judge(who, answer, setting);
        }
    }

    fn note_change_of_completion(&mut self, who: Who, operation: Operation, before: Record, setting: &Setting) {
        let Record::Completed { token, value, age, .. } = before else { return };
        match self.record {
            Record::Completed { token: now, value: says, age: aged, .. } if (now, says) == (token, value) => {
                if age == Age::Old && aged == Age::Young {
                    self.broke(Broken::TtlStartedAgain, setting);
                }
            }
            _ => match operation {
                Operation::Claim(request) if request.supersede == Some(token) && token != who => {
                    self.history.done = None;
                    self.workers[usize::from(value)].past.recorded = false;
                }
                _ => self.broke(Broken::CompletionChanged, setting),
            },
        }
    }

    fn note_completion(&mut self, who: Who, operation: Operation, value: Who, setting: &Setting) {
        self.history.done = Some(value);
        if operation != Operation::Complete {
            return; // a superseded record was put back
        }
        let past = &mut self.workers[usize::from(who)].past;
        let again = std::mem::replace(&mut past.recorded, true);
        if again {
            self.broke(Broken::TtlStartedAgain, setting);
        }
        self.forget_attempts();
    }

    fn note_begin(&mut self, who: Who, message: Message, before: Record, setting: &Setting) {
        let changed = before != self.record;
        let phase = self.worker(who).phase;
        self.history.begun_late |=
            message == Message::Begin && changed && !matches!(phase, Phase::Beginning | Phase::PuttingBack);
        let past = &mut self.workers[usize::from(who)].past;
        past.started &= setting.faults.repeat || !(changed && message == Message::PutBack);
        past.ran |= changed && message == Message::ClaimAnew;
    }

    fn note_burial(&mut self, who: Who, operation: Operation, answer: Answer) {
        let gives_back = matches!(operation, Operation::Release(_) | Operation::PutBack { .. });
        if gives_back && answer == Answer::Held {
            self.history.buried = Some(who);
        }
        // A claim of another that was put back, or made since, keeps no memory of this one.
        let another = |token: Who| self.history.buried.is_some_and(|buried| buried != token);
        match self.record {
            Record::InProgress { claim, .. } if another(claim.token) => self.history.buried = None,
            Record::Failed { token, .. } if another(token) && !gives_back => self.history.buried = None,
            _ => {}
        }
    }

    /// Whether what the store says is true.
    fn judge(&mut self, who: Who, answer: Answer, setting: &Setting) {
        let broken = match answer {
            Answer::Completed(record) if self.history.done != Some(record.value) => Broken::WrongDuplicate,
            Answer::Abandoned { owner, .. } if !self.ran_or_was_about_to(owner) => Broken::IndeterminateForNothing,
            // A call that was released can count twice: by its late claim together with its late `begin`.
            Answer::Exhausted { .. } if !self.history.begun_late && self.runs() < setting.policy(who).max_attempts => {
                Broken::ExhaustedForNothing
            }
            _ => return,
        };
        self.broke(broken, setting);
    }

    fn runs(&self) -> Option<u8> {
        u8::try_from(self.count(|past| past.started || past.ran)).ok()
    }

    fn ran_or_was_about_to(&self, who: Who) -> bool {
        let past = self.workers[usize::from(call_of(who))].past;
        past.started || past.ran
    }

    fn count(&self, what: impl Fn(crate::worker::Past) -> bool) -> usize {
        self.workers.iter().filter(|worker| what(worker.past)).count()
    }

    /// A body is polled.
    pub(crate) fn note_poll(&mut self, who: Who, effect: bool, setting: &Setting) {
        let (policy, at) = (setting.policy(who), usize::from(who));
        let past = self.workers[at].past;
        if self.history.done.is_some() && !past.bereft {
            self.broke(Broken::RanWithinTtl, setting);
        }
        if !past.ran {
            let others_open = self.count(|past| past.open) > usize::from(past.open);
            if policy.hold && !policy.existing && others_open && !past.bereft {
                self.broke(Broken::RanTwiceUnderHold, setting);
            }
            if policy.max_attempts.is_some_and(|most| self.count(|past| past.ran) >= usize::from(most)) {
                self.broke(Broken::RanTooOften, setting);
            }
            if policy.existing {
                // It was asked, and said that none of them had an effect.
                self.workers.iter_mut().for_each(|worker| worker.past.open = false);
            }
            let past = &mut self.workers[at].past;
            (past.ran, past.open) = (true, true);
        }
        if effect {
            if self.history.effect && (policy.hold || policy.existing) && !past.bereft {
                self.broke(Broken::EffectTwice, setting);
            }
            self.history.effect = true;
        }
    }

    /// The record has expired.
    pub(crate) fn note_expiry(&mut self, before: Record, setting: &Setting) {
        self.history.buried = None;
        match before {
            Record::Absent | Record::Completed { age: Age::CutShort, .. } => return,
            Record::Completed { value, .. } => self.note_end_of_ttl(value, setting),
            Record::Failed { brief: true, .. } => {}
            Record::Failed { .. } | Record::InProgress { .. } => self.forget_attempts(),
        }
        if let Some(token) = before.token().filter(|_| !setting.faults.ancient) {
            self.messages_expire(token, setting);
        }
    }

    fn note_end_of_ttl(&mut self, value: Who, setting: &Setting) {
        self.history.done = None;
        if !setting.policies[..setting.calls].iter().any(|policy| policy.existing) {
            self.history.effect = false;
        }
        self.workers.iter_mut().for_each(|worker| worker.past.open = false);
        self.forget_attempts();
        let worker = &mut self.workers[usize::from(value)];
        worker.past.ttl_over = worker.phase != Phase::Ended;
    }

    /// No record expires while a message is about that was sent before it was written. A message that is not answered is
    /// sent again and again, but `put_back` for no longer than a lease or the record's retention, and the record of a run
    /// for no longer than its ttl.
    fn messages_expire(&mut self, who: Who, setting: &Setting) {
        let worker = &mut self.workers[usize::from(call_of(who))];
        worker.sent.clear();
        match worker.phase {
            Phase::PuttingBack => worker.end(),
            Phase::ClaimingAnew | Phase::CompletingAnew if !setting.lacks(Rule::RewriteWithinTtl) => worker.end(),
            _ => worker.sent.extend(worker.awaits()),
        }
    }

    fn forget_attempts(&mut self) {
        for worker in &mut self.workers {
            worker.past.started &= worker.phase == Phase::Beginning;
            worker.past.ran = false;
        }
    }

    /// The store was emptied.
    pub(crate) fn note_restart(&mut self) {
        self.history = History { restarted: true, effect: self.history.effect, ..History::default() };
        for worker in &mut self.workers {
            let past = &mut worker.past;
            past.bereft = !matches!(worker.phase, Phase::Idle | Phase::Ended);
            past.started &= worker.phase == Phase::Beginning;
            (past.ran, past.open, past.recorded) = (false, false, false);
        }
    }
}
