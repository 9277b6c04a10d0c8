//! Where consumers get their messages, and where their effects arrive: what a broker and a database are to an
//! application. It is outside their processes, so no kill takes back what it has seen.

mod messages;
mod serve;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use examples::fence::{Answer, Fences};
use serde::{Deserialize, Serialize};

use self::messages::Messages;
pub(crate) use self::serve::serve;
use crate::history::{Event, Log};

/// Messages of each key while it storms.
pub(crate) const COPIES: usize = 3;

/// All messages of a key: one more comes in the end.
pub(crate) const OF_A_KEY: u64 = 4;

/// What a consumer says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// It has done with its message, and would like another.
    Next(Option<Done>),
    /// An effect of a run.
    Effect { key: u64, run: u64, fence: Option<u64> },
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Done {
    Settled,
    Again { after_ms: u64 },
}

/// What it is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Tell {
    Message {
        message: u64,
        key: u64,
    },
    /// Nothing for now.
    Nothing,
    /// No more messages will come.
    Over,
    Accepted,
    Refused,
}

pub(crate) struct Desk {
    state: Mutex<State>,
    changed: Condvar,
    log: Arc<Log>,
}

#[derive(Debug, Default)]
struct State {
    messages: Messages,
    fences: Fences,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    Over,
}

impl Desk {
    pub(crate) fn new(log: Arc<Log>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Condvar::new(), log })
    }

    /// Publishes all messages of one more key, each after a delay.
    pub(crate) fn publish(&self, delays: [Duration; COPIES]) {
        let mut state = self.lock();
        let keys = state.messages.publish(delays);
        self.log.write(&Event::Published { keys });
        drop(state);
        self.changed.notify_all();
    }

    /// Sends one more message of every key.
    pub(crate) fn send_all_again(&self) {
        self.lock().messages.send_all_again();
        self.changed.notify_all();
    }

    /// Keys so far, and those of which a message is not settled.
    pub(crate) fn keys(&self) -> (u64, usize) {
        let state = self.lock();
        (state.messages.keys(), state.messages.unsettled_keys())
    }

    /// The first key of which a message is not settled; the next one, where there is none.
    pub(crate) fn first_unsettled(&self) -> u64 {
        self.lock().messages.first_unsettled()
    }

    /// Every message is settled.
    pub(crate) fn is_settled(&self) -> bool {
        self.lock().messages.unsettled_keys() == 0
    }

    /// Sends all consumers home.
    pub(crate) fn close(&self) {
        self.lock().phase = Phase::Over;
        self.changed.notify_all();
    }

    /// A message, or none for now.
    fn next(&self) -> Tell {
        let mut state = self.lock();
        for _ in 0..2 {
            if state.phase == Phase::Over {
                return Tell::Over;
            }
            if let Some((message, key)) = state.messages.take() {
                return Tell::Message { message, key };
            }
            let waited = self.changed.wait_timeout(state, Duration::from_millis(20));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Tell::Nothing
    }

    fn done(&self, message: u64, done: Done) {
        self.lock().messages.done(message, done);
        self.changed.notify_all();
    }

    /// Takes an effect, or refuses it.
    fn present(&self, key: u64, run: u64, fence: Option<u64>) -> Tell {
        let mut state = self.lock();
        let order = usize::try_from(key).expect("as many keys as were published");
        let answer = fence.map_or(Answer::Accepted, |fence| state.fences.present(order, fence));
        let accepted = answer == Answer::Accepted;
        // Under the lock: the history has the order in which it was decided.
        self.log.write(&Event::Presented { key, run, fence, accepted });
        if accepted { Tell::Accepted } else { Tell::Refused }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
