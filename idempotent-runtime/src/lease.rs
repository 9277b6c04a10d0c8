//! The lease of one acquired claim, as the worker knows it: shared by the guard, which asks before every poll of the
//! handler, and the keeper, which renews.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};
use std::time::Duration;

use crate::clock::{Clock, Moment};
use crate::idempotency::Core;
use crate::key::Key;
use crate::token::Token;

/// One acquired claim and how long it may be believed in.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) key: Key,
    pub(crate) token: Token,
    pub(crate) length: Duration,
    pub(crate) attempt: u32,
    pub(crate) fence: Option<u64>,
    /// The handle that claimed: weak, since its keeper knows the lease.
    pub(crate) core: Weak<Core>,
    clock: Clock,
    /// When its claim was asked for.
    since: Moment,
    belief: Mutex<Belief>,
}

#[derive(Debug)]
struct Belief {
    /// Strictly before this moment the claim is ours without asking.
    deadline: Moment,
    /// When the next renewal is to be sent.
    renew_at: Moment,
    /// What the store last said, or failed to say.
    word: Word,
    /// A renewal is on its way.
    asking: bool,
    /// The handler that waits for the store's word.
    waiter: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Held,
    /// No answer to a renewal sent after the deadline; silence about an earlier one says nothing about now.
    Silent,
    Lost,
}

/// Whether the handler may be polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The claim is ours.
    Held,
    /// The deadline has passed, and the store's word is being asked for.
    InDoubt,
    /// The deadline has passed, and the store did not answer when it was asked. For how long it has been so since the
    /// deadline.
    Silent(Duration),
    /// The store says that the claim is another's.
    Lost,
}

impl Lease {
    /// A lease whose claim was asked for at `sent` and then acquired.
    pub(crate) fn new(claimed: Claimed, clock: Clock, sent: Moment) -> Arc<Self> {
        let Claimed { key, token, length, attempt, fence, core } = claimed;
        let belief = Belief {
            deadline: sent.after(believed(length)),
            renew_at: sent.after(length / 3),
            word: Word::Held,
            asking: false,
            waiter: None,
        };
        Arc::new(Self { key, token, length, attempt, fence, core, clock, since: sent, belief: Mutex::new(belief) })
    }

    /// Whether the handler may be polled now. Unless it may, the task of `cx` is woken at the next news; a loss wakes
    /// it in any case.
    pub(crate) fn standing(&self, cx: &mut Context<'_>) -> Standing {
        let now = self.clock.now();
        let mut belief = self.belief();
        let standing = match belief.word {
            Word::Lost => return Standing::Lost,
            _ if now < belief.deadline => Standing::Held,
            Word::Held => {
                belief.renew_at = now;
                Standing::InDoubt
            }
            Word::Silent => Standing::Silent(now.since(belief.deadline)),
        };
        match &belief.waiter {
            Some(waiter) if waiter.will_wake(cx.waker()) => {}
            _ => belief.waiter = Some(cx.waker().clone()),
        }
        standing
    }

    /// What is left until the store must be asked again; zero when in doubt or lost.
    pub(crate) fn remaining(&self) -> Duration {
        let belief = self.belief();
        if belief.word == Word::Lost { Duration::ZERO } else { belief.deadline.since(self.clock.now()) }
    }

    /// For how long the claim has stood.
    pub(crate) fn age(&self, now: Moment) -> Duration {
        now.since(self.since)
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.belief().word == Word::Lost
    }

    /// When the next renewal is to be sent; `None` while one is on its way or after a loss.
    pub(crate) fn renew_at(&self) -> Option<Moment> {
        let belief = self.belief();
        (!belief.asking && belief.word != Word::Lost).then_some(belief.renew_at)
    }

    /// Takes note that a renewal is on its way, or next in the keeper's window.
    pub(crate) fn is_asked_about(&self) {
        self.belief().asking = true;
    }

    /// Takes note of the answer to a renewal sent at `sent`.
    pub(crate) fn heard(&self, sent: Moment, news: News) {
        let waiter = {
            let mut belief = self.belief();
            belief.asking = false;
            match news {
                News::Held => {
                    belief.deadline = belief.deadline.max(sent.after(believed(self.length)));
                    belief.renew_at = sent.after(self.length / 3);
                    if belief.word != Word::Lost {
                        belief.word = Word::Held;
                    }
                }
                News::Lost => belief.word = Word::Lost,
                News::Silent => {
                    belief.renew_at = self.clock.now().after(self.length / 12);
                    if belief.word == Word::Held && sent >= belief.deadline {
                        belief.word = Word::Silent;
                    }
                }
            }
            belief.waiter.take()
        };
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    fn belief(&self) -> MutexGuard<'_, Belief> {
        // Nothing inside panics half way: a poisoned belief is a whole one.
        self.belief.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a claim came to, before its lease is watched.
pub(crate) struct Claimed {
    pub(crate) key: Key,
    pub(crate) token: Token,
    pub(crate) length: Duration,
    pub(crate) attempt: u32,
    pub(crate) fence: Option<u64>,
    pub(crate) core: Weak<Core>,
}

/// What a renewal brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Held,
    Lost,
    Silent,
}

/// How long a worker believes in a lease: a sixth less than the store does, for what is on its way and for clocks that
/// run at different speeds.
pub(crate) fn believed(lease: Duration) -> Duration {
    lease.saturating_sub(lease / 6)
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A lease of twelve seconds: believed in for ten, renewed after four.
    fn lease() -> (Arc<Lease>, Clock) {
        let clock = Clock::Tokio(tokio::time::Instant::now());
        let (key, token, length) = (Key::from_text("k:1"), Token::random(), 12 * SECOND);
        let claimed = Claimed { key, token, length, attempt: 1, fence: None, core: Weak::new() };
        (Lease::new(claimed, clock, clock.now()), clock)
    }

    fn standing(lease: &Lease) -> Standing {
        lease.standing(&mut Context::from_waker(Waker::noop()))
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_believed_in_strictly_before_the_deadline() {
        let (lease, _) = lease();
        tokio::time::advance(Duration::from_millis(9_999)).await;
        assert_eq!(standing(&lease), Standing::Held);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(standing(&lease), Standing::InDoubt);
        assert_eq!(lease.remaining(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_counts_from_when_its_question_was_sent() {
        let (lease, clock) = lease();
        let sent = clock.now();
        tokio::time::advance(9 * SECOND).await;
        lease.heard(sent, News::Held);
        assert_eq!(lease.remaining(), SECOND, "not from when it was heard");
        lease.heard(clock.now(), News::Held);
        assert_eq!(lease.remaining(), 10 * SECOND);
        lease.heard(sent, News::Held);
        assert_eq!(lease.remaining(), 10 * SECOND, "an older answer takes nothing away");
    }

    #[tokio::test(start_paused = true)]
    async fn in_doubt_a_word_is_as_good_as_its_own_deadline() {
        let (lease, clock) = lease();
        let early = clock.now();
        tokio::time::advance(4 * SECOND).await;
        let before = clock.now();
        tokio::time::advance(7 * SECOND).await;
        assert_eq!(standing(&lease), Standing::InDoubt);
        lease.heard(early, News::Held);
        assert_eq!(standing(&lease), Standing::InDoubt, "that word is as old as the claim");
        lease.heard(before, News::Held);
        assert_eq!(standing(&lease), Standing::Held, "asked before the doubt, and held for a lease from then on");
        assert_eq!(lease.remaining(), 3 * SECOND);
        tokio::time::advance(3 * SECOND).await;
        assert_eq!(standing(&lease), Standing::InDoubt);
    }

    #[tokio::test(start_paused = true)]
    async fn in_doubt_only_the_silence_that_came_since_counts() {
        let (lease, clock) = lease();
        let before = clock.now();
        lease.is_asked_about();
        tokio::time::advance(11 * SECOND).await;
        lease.heard(before, News::Silent);
        assert_eq!(standing(&lease), Standing::InDoubt, "that silence was before the deadline");
        assert_eq!(lease.renew_at(), Some(clock.now()), "so it is asked at once");
        let since = clock.now();
        lease.is_asked_about();
        assert_eq!(lease.renew_at(), None, "and not twice");
        tokio::time::advance(SECOND).await;
        lease.heard(since, News::Silent);
        assert_eq!(standing(&lease), Standing::Silent(2 * SECOND));
        lease.heard(clock.now(), News::Held);
        assert_eq!(standing(&lease), Standing::Held);
    }

    #[tokio::test(start_paused = true)]
    async fn a_loss_is_final() {
        let (lease, clock) = lease();
        lease.heard(clock.now(), News::Lost);
        assert_eq!(standing(&lease), Standing::Lost);
        lease.heard(clock.now(), News::Held);
        assert_eq!(standing(&lease), Standing::Lost);
        assert_eq!(lease.renew_at(), None);
    }
}
