//! Waking those who wait for the end of a run: who they are, at one server.
//!
//! All waiters of a process share one connection to each server, and all of one key one subscription. A task sees to
//! both, on the runtime of whoever came first: it connects, subscribes and unsubscribes as waiters come and go, and ends
//! a while after the last has gone. When it ends too early, because the connection is lost or its runtime is gone,
//! everybody is woken: each looks again, and watches again, which starts another task.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use super::channel::Spread;
use super::connection::Connections;
use super::listener::Listening;
use crate::store::{StoreError, StoreErrorKind, Watch};

/// After a subscription that could not be made, none is tried for as long: waiters poll.
const PAUSE: Duration = Duration::from_secs(1);

/// The same where the server refuses: somebody has to mend it.
const LONG_PAUSE: Duration = Duration::from_mins(1);

/// Who waits at one server.
#[derive(Debug, Default)]
pub(super) struct Waking {
    state: Mutex<State>,
    /// There is something to do for the task.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    channels: HashMap<Arc<str>, Channel>,
    /// Channels that were added or removed since the task looked.
    touched: Vec<Arc<str>>,
    /// How many tasks there were, and whether the last one is still there.
    task: u64,
    listening: bool,
    /// The connection is of no more use.
    is_lost: bool,
    not_before: Option<Instant>,
    /// The refusal was logged.
    is_told: bool,
}

#[derive(Debug)]
struct Channel {
    news: watch::Sender<News>,
    watchers: usize,
}

/// What the watchers of one channel know.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    subscribed: bool,
    ends: u64,
    /// Nobody sees to the channel any more.
    is_over: bool,
}

/// What is to be done about a channel that was touched.
pub(super) enum Wanted {
    Yes(Arc<str>),
    No(Arc<str>),
}

impl Connections {
    /// Watches a channel of this server.
    pub(super) fn watch(self: &Arc<Self>, spread: Spread, channel: &str) -> Watch {
        let Ok(runtime) = Handle::try_current() else { return Watch::never() };
        let mut state = self.waking.lock();
        if state.not_before.is_some_and(|moment| Instant::now() < moment) {
            return Watch::never();
        }
        let (name, is_new) = match state.channels.get_key_value(channel) {
            Some((name, _)) => (Arc::clone(name), false),
            None => (Arc::from(channel), true),
        };
        let known = state.channels.entry(Arc::clone(&name)).or_insert_with(Channel::new);
        known.watchers += 1;
        let (mut told, mut ended) = (known.news.subscribe(), known.news.subscribe());
        let seen = ended.borrow().ends;
        let place = Place { at: Arc::clone(self), channel: Arc::clone(&name), news: known.news.clone() };
        if is_new {
            state.touched.push(name);
        }
        let starts = !std::mem::replace(&mut state.listening, true);
        state.task += u64::from(starts);
        let task = state.task;
        drop(state);
        if starts {
            // Whatever becomes of the task, also if it is never polled, its end wakes the watchers.
            let listening = Listening { at: Arc::clone(self), task };
            runtime.spawn(listening.until_nobody_waits(spread));
        } else if is_new {
            self.waking.changed.notify_one();
        }
        Watch::usually(
            async move { told.wait_for(|news| news.subscribed || news.is_over).await.is_ok_and(|news| !news.is_over) },
            async move {
                let _place = place;
                let _ = ended.wait_for(|news| news.ends != seen || news.is_over).await;
            },
        )
    }
}

impl Waking {
    /// The channels that were touched since the last time, and whether they are watched. `None` when the connection is
    /// lost.
    pub(super) fn touched(&self) -> Option<Vec<Wanted>> {
        let mut state = self.lock();
        if state.is_lost {
            return None;
        }
        let touched = std::mem::take(&mut state.touched);
        let wanted = |name: Arc<str>| {
            if state.channels.contains_key(&name) { Wanted::Yes(name) } else { Wanted::No(name) }
        };
        Some(touched.into_iter().map(wanted).collect())
    }

    /// Waits until there is something to do.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Whether anybody waits.
    pub(super) fn is_watched(&self) -> bool {
        !self.lock().channels.is_empty()
    }

    /// The server has confirmed the subscription.
    pub(super) fn subscribed(&self, channel: &str) {
        let mut state = self.lock();
        (state.not_before, state.is_told) = (None, false);
        let news = state.channels.get(channel).map(|channel| channel.news.clone());
        drop(state);
        if let Some(news) = news {
            news.send_modify(|news| news.subscribed = true);
        }
    }

    /// A run has ended.
    pub(super) fn ended(&self, channel: &str) {
        let news = self.lock().channels.get(channel).map(|channel| channel.news.clone());
        if let Some(news) = news {
            news.send_modify(|news| news.ends += 1);
        }
    }

    /// The server has ended a subscription. One that nobody asked to end was in a slot that has moved away, and there
    /// may be more: everybody is to look again.
    pub(super) fn unsubscribed(&self, channel: &str) {
        let state = self.lock();
        let unasked = state.channels.get(channel).is_some_and(|channel| channel.news.borrow().subscribed);
        drop(state);
        if unasked {
            self.lose();
        }
    }

    /// The server is of no more use: everybody is to be woken.
    pub(super) fn lose(&self) {
        self.lose_if(|_| true);
    }

    /// The connection of a task has ended: everybody is to be woken, unless there is another by now.
    pub(super) fn lose_task(&self, task: u64) {
        self.lose_if(|last| last == task);
    }

    fn lose_if(&self, concerns: impl FnOnce(u64) -> bool) {
        let mut state = self.lock();
        if state.listening && concerns(state.task) {
            state.is_lost = true;
            drop(state);
            self.changed.notify_one();
        }
    }

    /// The task ends if it has nobody to see to; `false` if somebody has come.
    pub(super) fn end_idle(&self) -> bool {
        let mut state = self.lock();
        let is_idle = state.channels.is_empty();
        if is_idle {
            (state.listening, state.is_lost) = (false, false);
        }
        is_idle
    }

    /// The subscriptions cannot be made: waiters poll for a while.
    pub(super) fn fail(&self, server: &dyn std::fmt::Display, error: &StoreError) {
        let mut state = self.lock();
        let refused = error.kind() == StoreErrorKind::Refused;
        state.not_before = Some(Instant::now() + if refused { LONG_PAUSE } else { PAUSE });
        let tell = refused && !std::mem::replace(&mut state.is_told, true);
        drop(state);
        if tell {
            tracing::warn!(
                %server, %error,
                "calls that wait for another's run are not woken, and poll; let the user subscribe and publish: \
                 +@pubsub &idempotent:ended:*"
            );
        }
    }

    /// A task ends, whatever the reason: everybody is woken.
    pub(super) fn end(&self, task: u64) {
        let mut state = self.lock();
        if state.task != task || !state.listening {
            return;
        }
        (state.listening, state.is_lost) = (false, false);
        state.touched.clear();
        let woken = std::mem::take(&mut state.channels);
        drop(state);
        for channel in woken.into_values() {
            channel.news.send_modify(|news| news.is_over = true);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Channel {
    fn new() -> Self {
        Self { news: watch::Sender::new(News::default()), watchers: 0 }
    }
}

/// A watcher's place: given up when the watch is dropped.
struct Place {
    at: Arc<Connections>,
    channel: Arc<str>,
    news: watch::Sender<News>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let waking = &self.at.waking;
        let mut state = waking.lock();
        let Some(channel) = state.channels.get_mut(&self.channel) else { return };
        // After the end of the task, another channel of the same name may stand there.
        if !channel.news.same_channel(&self.news) {
            return;
        }
        channel.watchers -= 1;
        if channel.watchers == 0 {
            state.channels.remove(&self.channel);
            state.touched.push(Arc::clone(&self.channel));
            drop(state);
            waking.changed.notify_one();
        }
    }
}
