//! What a guard does: the steps of one call, from its claim to its end.

use crate::network::Message;
use crate::operation::{Answer, Reason};
use crate::rules::Rule;
use crate::setting::{Policy, Setting};
use crate::worker::{Belief, Heard, Phase, Worker};

impl Worker {
    /// The call is made.
    pub fn call(&mut self, setting: &Setting) {
        self.phase = Phase::Claiming;
        self.sent.send(Message::Claim);
        self.haunts = setting.lacks(Rule::RenewalEnds);
    }

    /// An answer leaves the store. What would only end the call, or leave it as it is, is heard at once.
    pub fn answer(&mut self, message: Message, answer: Answer, policy: Policy, setting: &Setting) {
        match (message, answer) {
            (Message::Claim | Message::Supersede | Message::WriteClaim, Answer::Acquired { leased, .. }) => {
                self.heard = Some(Heard::Won { leased });
            }
            (Message::Claim | Message::Supersede, Answer::Completed(record)) => self.heard = Some(Heard::Done(record)),
            (Message::Claim | Message::Supersede, Answer::InProgress { .. }) if policy.waits => {}
            (Message::Claim | Message::Supersede, Answer::MayBeTaken) => self.heard = Some(Heard::MayBeTaken),
            (Message::Begin | Message::Renew, Answer::Held) => self.heard = Some(Heard::Held),
            (Message::Begin, _) => self.put_back(),
            (Message::Complete, Answer::Absent) if !self.past.ttl_over || setting.lacks(Rule::RewriteWithinTtl) => {
                self.phase = Phase::ClaimingAnew;
                self.sent.send(Message::ClaimAnew);
            }
            (Message::ClaimAnew, Answer::Acquired { .. }) => {
                self.phase = Phase::CompletingAnew;
                self.sent.send(Message::CompleteAnew);
            }
            _ => self.end(),
        }
    }

    /// An answer arrives.
    pub fn hear(&mut self, heard: Heard, effect_is_there: bool, policy: Policy, setting: &Setting) {
        let late = self.late && !setting.lacks(Rule::DeadlineFromRequest);
        self.late = false;
        match (self.phase, heard) {
            (Phase::Claiming, Heard::Won { .. }) if late => self.put_back(),
            (Phase::Claiming, Heard::Won { leased }) => {
                self.belief = if leased { Belief::Leased } else { Belief::Unfounded };
                self.sent.send(Message::Renew);
                if policy.existing {
                    self.phase = Phase::Asking;
                } else {
                    self.about_to_run(policy, setting);
                }
            }
            (Phase::Claiming, Heard::Done(record)) if policy.verify && !effect_is_there => {
                self.refuted = Some(record);
                self.sent.send(Message::Supersede);
            }
            (Phase::Claiming, Heard::MayBeTaken) => self.sent.send(Message::WriteClaim),
            (Phase::Beginning, Heard::Held) => {
                self.belief = if late { Belief::No } else { Belief::Leased };
                self.phase = Phase::Running { polled: false, effect: false };
            }
            (Phase::Running { .. }, Heard::Held) if late => {}
            (Phase::Running { .. }, Heard::Held) => self.belief = Belief::Leased,
            _ => self.end(),
        }
    }

    /// What `existing` says has been heard: the body is next.
    pub fn about_to_run(&mut self, policy: Policy, setting: &Setting) {
        if policy.begins() && !setting.lacks(Rule::BeginComesFirst) {
            self.phase = Phase::Beginning;
            self.sent.send(Message::Begin);
            self.past.started = true;
            self.past.bygone = false;
        } else {
            self.phase = Phase::Running { polled: false, effect: false };
        }
    }

    /// The effect is there; it is to be recorded.
    pub fn complete(&mut self) {
        self.phase = Phase::Completing;
        self.sent.send(Message::Complete);
        self.quiet();
    }

    /// The run has failed, or was given up.
    pub fn release(&mut self, reason: Reason) {
        self.phase = Phase::Releasing(reason);
        self.sent.send(match reason {
            Reason::Failed => Message::ReleaseFailed,
            Reason::GivenUp => Message::ReleaseGivenUp,
        });
        self.quiet();
    }

    /// The claim ends without a run.
    pub fn put_back(&mut self) {
        self.phase = Phase::PuttingBack;
        self.sent.send(Message::PutBack);
        self.quiet();
    }

    /// The caller drops the call.
    pub fn drop(&mut self, policy: Policy, setting: &Setting) {
        match self.phase {
            Phase::Claiming | Phase::Asking | Phase::Beginning | Phase::Running { polled: false, .. } => {
                self.put_back();
            }
            Phase::Running { .. } if policy.hold && !setting.lacks(Rule::HoldReleasesNothingOnDrop) => {
                self.release(Reason::GivenUp);
            }
            Phase::Running { .. } => self.release(Reason::Failed),
            Phase::Completing if setting.lacks(Rule::NothingReleasesAfterReturn) => self.release(Reason::Failed),
            _ => {}
        }
    }

    /// Whether dropping the call means anything.
    pub fn can_be_dropped(&self, setting: &Setting) -> bool {
        match self.phase {
            Phase::Claiming | Phase::Asking | Phase::Beginning | Phase::Running { .. } => true,
            Phase::Completing => setting.lacks(Rule::NothingReleasesAfterReturn),
            _ => false,
        }
    }

    /// The process is gone.
    pub fn crash(&mut self) {
        self.end();
        self.haunts = false;
    }

    /// Nobody works for the call any longer.
    pub fn end(&mut self) {
        self.haunts &= self.phase == Phase::PuttingBack;
        self.phase = Phase::Ended;
        self.stopped = false;
        self.past.bereft = false;
        self.past.ttl_over = false;
        self.quiet();
    }

    /// It no longer polls, and what was on its way to it means nothing.
    fn quiet(&mut self) {
        self.heard = None;
        self.late = false;
        self.belief = Belief::No;
    }
}
