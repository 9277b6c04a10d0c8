//! The network: which messages of a call are about.
//!
//! A message that was sent once may be applied at any later time, as often as the checker likes, also when its sender
//! is gone. As all messages of one kind and one call say the same, a set is enough.

use crate::record::{ANEW, Who};

/// One kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Message {
    /// The claim.
    Claim,
    /// The claim again, to replace the completed record that the call has read.
    Supersede,
    /// A fresh claim, under the call's second token, for the record of a run that has ended.
    ClaimAnew,
    /// The completion under the second token.
    CompleteAnew,
    /// A take-over that was decided by the caller: see [`Operation::WriteClaim`](crate::operation::Operation).
    WriteClaim,
    /// That the body is about to run.
    Begin,
    /// A renewal.
    Renew,
    /// The completion.
    Complete,
    /// The release of a failed run.
    ReleaseFailed,
    /// The release of a run that nobody knows the end of.
    ReleaseGivenUp,
    /// The end of a claim without a run.
    PutBack,
}

impl Message {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Claim,
        Self::Supersede,
        Self::ClaimAnew,
        Self::CompleteAnew,
        Self::WriteClaim,
        Self::Begin,
        Self::Renew,
        Self::Complete,
        Self::ReleaseFailed,
        Self::ReleaseGivenUp,
        Self::PutBack,
    ];

    /// The token that it carries.
    pub const fn token(self, who: Who) -> Who {
        match self {
            Self::ClaimAnew | Self::CompleteAnew => who + ANEW,
            _ => who,
        }
    }
}

/// The kinds that one call has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sent(u16);

impl Sent {
    /// No message.
    pub const NONE: Self = Self(0);

    /// Sends a message.
    pub fn send(&mut self, message: Message) {
        self.0 |= 1 << message as u8;
    }

    /// Whether a message may be about.
    pub const fn has(self, message: Message) -> bool {
        self.0 & (1 << message as u8) != 0
    }

    /// The messages that may be about.
    pub fn messages(self) -> impl Iterator<Item = Message> {
        Message::ALL.into_iter().filter(move |message| self.has(*message))
    }

    /// Sends what there is to send.
    pub fn extend(&mut self, messages: impl IntoIterator<Item = Message>) {
        messages.into_iter().for_each(|message| self.send(message));
    }

    /// Those messages are about no longer.
    pub fn remove(&mut self, messages: impl IntoIterator<Item = Message>) {
        messages.into_iter().for_each(|message| self.0 &= !(1 << message as u8));
    }

    /// Nothing that was sent is about any longer.
    pub fn clear(&mut self) {
        self.0 = 0;
    }
}
