//! The guard's side of one call.
//!
//! A call is what a worker does under one token. A worker that tries again, or that comes back after a crash, is a
//! further call: the model lets calls overlap as they like, so what it finds holds for those that come one by one too.

use crate::network::{Message, Sent};
use crate::operation::{Operation, Reason, Request, Superseded};
use crate::record::Who;
use crate::rules::Rule;
use crate::setting::Setting;

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Worker {
    /// How far it has come.
    pub phase: Phase,
    /// Its messages.
    pub sent: Sent,
    /// An answer that is on its way to it.
    pub heard: Option<Heard>,
    /// The claim was taken from it or may have been: by its own clock a lease has passed since it sent what `heard`
    /// answers.
    pub late: bool,
    /// Whether it is before its local deadline.
    pub belief: Belief,
    /// The completed record that `verify` has refused.
    pub refuted: Option<Superseded>,
    /// The process is stopped.
    pub stopped: bool,
    /// It renews its claim although it should no longer: see [`Rule::RenewalEnds`].
    pub haunts: bool,
    /// What it has done, for the properties; the protocol does not look at it.
    pub past: Past,
}

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Not called yet.
    Idle,
    /// The claim is sent.
    Claiming,
    /// The claim is its own; `existing` is asked.
    Asking,
    /// `begin` is sent.
    Beginning,
    /// The body may be polled.
    Running {
        /// It was polled.
        polled: bool,
        /// Its effect is made.
        effect: bool,
    },
    /// The body has returned; the completion is sent, until it is answered.
    Completing,
    /// The completion found nothing; a fresh claim is sent, for the record's sake.
    ClaimingAnew,
    /// That claim is to be completed.
    CompletingAnew,
    /// The release is sent, until it is answered.
    Releasing(Reason),
    /// `put_back` is sent, until it is answered or a lease has passed; where `begin` was sent before, until it is
    /// answered or the record is no more.
    PuttingBack,
    /// Nobody works for it any longer.
    Ended,
}

/// What the body may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Belief {
    /// Its deadline has passed, or it has none.
    No,
    /// The deadline lies before the end of the lease at the store.
    Leased,
    /// The deadline was taken from an answer that started no lease, and may lie beyond the end of it.
    Unfounded,
}

/// An answer on its way. Those that change nothing but the call itself are heard at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Heard {
    /// The claim is the call's own.
    Won {
        /// The answer started the lease.
        leased: bool,
    },
    /// The record is completed.
    Done(Superseded),
    /// It is still the call's own.
    Held,
    /// Somebody's claim has lapsed.
    MayBeTaken,
}

/// What a call has done.
#[expect(clippy::struct_excessive_bools, reason = "facts, each so or not")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    /// Its body was polled, since the last end of a ttl.
    pub ran: bool,
    /// Its body was polled, and nobody knows that it had no effect.
    pub open: bool,
    /// It was about to poll its body: `begin` is sent.
    pub started: bool,
    /// It has completed the record.
    pub recorded: bool,
    /// The ttl of its completion is over.
    pub ttl_over: bool,
    /// The store was emptied while it ran.
    pub bereft: bool,
    /// It had claimed before the record was written that stands now.
    pub bygone: bool,
}

impl Worker {
    /// A call that has not been made.
    pub const IDLE: Self = Self {
        phase: Phase::Idle,
        sent: Sent::NONE,
        heard: None,
        late: false,
        belief: Belief::No,
        refuted: None,
        stopped: false,
        haunts: false,
        past: Past {
            ran: false,
            open: false,
            started: false,
            recorded: false,
            ttl_over: false,
            bereft: false,
            bygone: false,
        },
    };

    /// Whether the body may be polled now.
    pub fn may_poll(&self, setting: &Setting) -> bool {
        self.is_running() && !self.stopped && (self.belief != Belief::No || setting.lacks(Rule::NoPollInDoubt))
    }

    /// The message whose answer it waits for.
    pub fn awaits(&self) -> Option<Message> {
        if self.heard.is_some() || self.stopped {
            return None;
        }
        Some(match self.phase {
            Phase::Claiming if self.sent.has(Message::WriteClaim) => Message::WriteClaim,
            Phase::Claiming if self.refuted.is_some() => Message::Supersede,
            Phase::Claiming => Message::Claim,
            Phase::Beginning => Message::Begin,
            Phase::Running { .. } => Message::Renew,
            Phase::Completing => Message::Complete,
            Phase::ClaimingAnew => Message::ClaimAnew,
            Phase::CompletingAnew => Message::CompleteAnew,
            Phase::Releasing(Reason::Failed) => Message::ReleaseFailed,
            Phase::Releasing(Reason::GivenUp) => Message::ReleaseGivenUp,
            Phase::PuttingBack => Message::PutBack,
            Phase::Idle | Phase::Asking | Phase::Ended => return None,
        })
    }

    /// Whether its keeper renews its claim.
    pub fn renews(&self) -> bool {
        self.haunts
            || matches!(
                self.phase,
                Phase::Asking | Phase::Beginning | Phase::Running { .. } | Phase::Completing | Phase::Releasing(_)
            )
    }

    /// The operation that a message asks for.
    pub fn operation(&self, who: Who, message: Message, setting: &Setting) -> Operation {
        let request = setting.policy(who).request(None, setting.without);
        match message {
            Message::Claim => Operation::Claim(request),
            Message::Supersede => {
                let supersede = self.refuted.map(|refuted| refuted.token);
                Operation::Claim(setting.policy(who).request(supersede, setting.without))
            }
            Message::ClaimAnew => Operation::Claim(Request { hold: true, begun: true, ..request }),
            Message::WriteClaim => Operation::WriteClaim(request),
            Message::Begin => Operation::Begin,
            Message::Renew => Operation::Renew,
            Message::Complete | Message::CompleteAnew => Operation::Complete,
            Message::ReleaseFailed => Operation::Release(Reason::Failed),
            Message::ReleaseGivenUp => Operation::Release(Reason::GivenUp),
            Message::PutBack => Operation::PutBack { superseded: self.restored(who, setting) },
        }
    }

    /// The superseded record as it is put back: it then has this call's token, so that this call's own late claim finds
    /// itself completed, and supersedes it no second time.
    fn restored(&self, who: Who, setting: &Setting) -> Option<Superseded> {
        let restamp = !setting.lacks(Rule::PutBackRestampsCompleted);
        self.refuted.map(|refuted| if restamp { Superseded { token: who, ..refuted } } else { refuted })
    }

    /// A lease has passed by the clocks of the store and of everybody that counts suspension.
    pub fn lease_passes(&mut self, setting: &Setting) {
        if self.stopped && setting.lacks(Rule::ClockCountsSuspension) {
            return;
        }
        match self.heard {
            // The answer to a renewal is taken for a word, whatever its age.
            Some(Heard::Held) if self.is_running() && setting.lacks(Rule::OldAnswersAreNoWord) => {}
            Some(Heard::Won { leased: true } | Heard::Held) => self.late = true,
            _ => {}
        }
        if self.belief == Belief::Leased {
            self.belief = Belief::No;
        }
    }

    /// Whether it has come to its body.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running { .. })
    }

    /// The record is written. What the call has sent to claim is about until that lease ends, at the longest.
    pub fn record_is_written(&mut self) {
        self.past.bygone = !matches!(self.phase, Phase::Idle | Phase::Claiming | Phase::Beginning);
    }

    /// A lease has passed since the record was written, by this call or another.
    pub fn messages_die(&mut self, owns: bool) {
        let has_won = self.sent.has(Message::Renew);
        if self.past.bygone && self.phase == Phase::Ended {
            self.sent.clear();
        } else if self.past.bygone || (owns && has_won) {
            self.sent.remove([Message::Claim, Message::Supersede, Message::WriteClaim, Message::Begin]);
            self.sent.extend(self.awaits());
        }
        self.past.bygone = false;
    }
}
