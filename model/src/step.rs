//! What can happen next.

use std::fmt;

use crate::network::Message;
use crate::record::{Age, Lease, Record, Standing, Who};
use crate::rules::Rule;
use crate::setting::{Faults, Policy, Setting};
use crate::state::{State, has_deadline, hears};
use crate::worker::{Phase, Worker};

/// One thing that can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A worker calls the handler and sends the claim.
    Call(Who),
    /// The store applies the message that the call waits for, and the answer leaves for it.
    Answer(Who),
    /// The store applies a message and nobody hears of it: the answer is lost, or the message is a repetition, or late.
    Stray(Who, Message),
    /// An answer arrives.
    Hear(Who),
    /// `existing` is asked.
    Ask(Who, Existing),
    /// The body is polled.
    Poll {
        /// Whose.
        who: Who,
        /// The poll makes the business effect.
        effect: bool,
    },
    /// The body returns a value.
    Return(Who),
    /// The body returns an error, without an effect.
    Fail(Who),
    /// The local deadline passes.
    Deadline(Who),
    /// The caller drops the call (a panic and a time-out are the same).
    Drop(Who),
    /// A release, `put_back` or fresh record is given up unanswered.
    Forget(Who),
    /// The call claims again with a token that is dead: see [`Rule::PutBackTokenIsDead`].
    ClaimAgain(Who),
    /// The process is gone.
    Crash(Who),
    /// The process is stopped.
    Stop(Who),
    /// The process goes on.
    GoOn(Who),
    /// Half of the lease, or of the ttl, passes.
    Age,
    /// The lease ends.
    Lapse,
    /// The record expires.
    Expire,
    /// The store is emptied.
    Empty,
    /// The business undoes the effect.
    Undo,
}

/// What `existing` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Existing {
    /// The effect is there.
    There,
    /// It is not.
    NotThere,
    /// It could not be asked.
    Unknown,
}

impl Step {
    /// Whether it is no trouble: what remains possible when everything goes well from now on.
    pub fn is_calm(self, state: &State) -> bool {
        match self {
            Self::Call(_) | Self::Answer(_) | Self::Hear(_) | Self::Poll { .. } | Self::Return(_) | Self::GoOn(_) => {
                true
            }
            Self::Ask(_, existing) => existing != Existing::Unknown,
            // A lease that is renewed does not lapse.
            Self::Lapse => state.record.token().is_some_and(|owner| !state.worker(owner).renews()),
            _ => false,
        }
    }
}

impl State {
    /// All that can happen in this state.
    pub fn steps(&self, setting: &Setting, steps: &mut Vec<Step>) {
        if self.history.broken.is_some() {
            return;
        }
        for (who, worker) in (0..).zip(&self.workers[..setting.calls]) {
            self.steps_of(who, worker, setting, steps);
        }
        self.steps_of_time(setting, steps);
        let Faults { restart, undo, .. } = setting.faults;
        if restart && !self.history.restarted && self.record != Record::Absent {
            steps.push(Step::Empty);
        }
        if undo && !self.history.undone && self.history.done.is_some() && self.history.effect {
            steps.push(Step::Undo);
        }
    }

    fn steps_of(&self, who: Who, worker: &Worker, setting: &Setting, steps: &mut Vec<Step>) {
        let (policy, faults) = (setting.policy(who), setting.faults);
        if faults.stray {
            steps.extend(worker.sent.messages().map(|message| Step::Stray(who, message)));
        }
        match worker.phase {
            Phase::Idle => {
                let first = !self.workers[..usize::from(who)].iter().any(|worker| worker.phase == Phase::Idle);
                if first || !setting.alike() {
                    steps.push(Step::Call(who));
                }
                return;
            }
            Phase::Ended => return,
            _ => {}
        }
        if faults.crash {
            steps.push(Step::Crash(who));
        }
        if worker.stopped {
            steps.push(Step::GoOn(who));
            return;
        }
        if faults.suspend {
            steps.push(Step::Stop(who));
        }
        if worker.awaits().is_some() {
            steps.push(Step::Answer(who));
        }
        if hears(worker).is_some() {
            steps.push(Step::Hear(who));
        }
        if has_deadline(worker) {
            steps.push(Step::Deadline(who));
        }
        if faults.drop && worker.can_be_dropped(setting) {
            steps.push(Step::Drop(who));
        }
        self.steps_of_phase(who, worker, policy, setting, steps);
    }

    fn steps_of_phase(&self, who: Who, worker: &Worker, policy: Policy, setting: &Setting, steps: &mut Vec<Step>) {
        match worker.phase {
            Phase::Asking => {
                let truth = if self.history.effect { Existing::There } else { Existing::NotThere };
                steps.extend([Step::Ask(who, truth), Step::Ask(who, Existing::Unknown)]);
            }
            Phase::Running { polled, effect } if worker.may_poll(setting) => {
                if !polled {
                    steps.push(Step::Poll { who, effect: false });
                }
                if !effect {
                    steps.push(Step::Poll { who, effect: true });
                }
                if effect {
                    steps.push(Step::Return(who));
                } else if polled && policy.fails {
                    steps.push(Step::Fail(who));
                }
            }
            Phase::PuttingBack => {
                if !worker.past.started || setting.lacks(Rule::PutBackOutlastsALease) {
                    steps.push(Step::Forget(who));
                }
                if setting.lacks(Rule::PutBackTokenIsDead) {
                    steps.push(Step::ClaimAgain(who));
                }
            }
            Phase::Releasing(_) | Phase::ClaimingAnew | Phase::CompletingAnew => steps.push(Step::Forget(who)),
            _ => {}
        }
    }

    fn steps_of_time(&self, setting: &Setting, steps: &mut Vec<Step>) {
        let Faults { expire, age: ages, .. } = setting.faults;
        match self.record {
            Record::Absent => {}
            Record::InProgress { claim, lease, .. } => {
                if claim.is_live(lease) {
                    steps.push(Step::Lapse);
                    if ages && lease == Lease::Fresh {
                        steps.push(Step::Age);
                    }
                } else if expire && (!setting.holds_runs() || claim.is_no_open_run()) {
                    steps.push(Step::Expire);
                }
                debug_assert!(claim.standing != Standing::GivenUp || !claim.is_live(lease));
            }
            Record::Failed { .. } => {
                if expire {
                    steps.push(Step::Expire);
                }
            }
            Record::Completed { age, .. } => {
                if ages && age == Age::Young {
                    steps.push(Step::Age);
                }
                if expire || age == Age::CutShort {
                    steps.push(Step::Expire);
                }
            }
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |who: Who| char::from(b'A' + who);
        match *self {
            Self::Call(who) => write!(f, "{} calls", name(who)),
            Self::Answer(who) => write!(f, "the store applies what {} waits for, and answers", name(who)),
            Self::Stray(who, message) => write!(f, "the store applies {message:?} of {}, unheard", name(who)),
            Self::Hear(who) => write!(f, "the answer reaches {}", name(who)),
            Self::Ask(who, existing) => write!(f, "{} asks `existing`: {existing:?}", name(who)),
            Self::Poll { who, effect: false } => write!(f, "{}'s body is polled", name(who)),
            Self::Poll { who, effect: true } => write!(f, "{}'s body is polled and makes its effect", name(who)),
            Self::Return(who) => write!(f, "{}'s body returns", name(who)),
            Self::Fail(who) => write!(f, "{}'s body returns an error", name(who)),
            Self::Deadline(who) => write!(f, "{}'s deadline passes", name(who)),
            Self::Drop(who) => write!(f, "{}'s call is dropped", name(who)),
            Self::Forget(who) => write!(f, "{} waits no longer for its answer", name(who)),
            Self::ClaimAgain(who) => write!(f, "{} claims again with the same token", name(who)),
            Self::Crash(who) => write!(f, "{} crashes", name(who)),
            Self::Stop(who) => write!(f, "{} is stopped", name(who)),
            Self::GoOn(who) => write!(f, "{} goes on", name(who)),
            Self::Age => write!(f, "half of the time passes"),
            Self::Lapse => write!(f, "the lease lapses"),
            Self::Expire => write!(f, "the record expires"),
            Self::Empty => write!(f, "the store is emptied"),
            Self::Undo => write!(f, "the business undoes the effect"),
        }
    }
}
