//! The keeper's rounds: renew what is due, do what was handed in, sleep until the next need.
//!
//! Renewals go out in a bounded window, first come, first served. Ten thousand at once would wait in the connection
//! for longer than their own time-out, and all be sent again.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinSet;

use super::{Errand, Post};
use crate::clock::{Clock, Moment};
use crate::lease::{Lease, News};
use crate::observe;
use crate::store::{Answer, Store};

/// What rounds need.
#[derive(Clone, Debug)]
pub(super) struct Means {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Clock,
    /// How long one answer is waited for.
    pub(super) patience: Duration,
}

/// How many renewals are on their way at once.
const WINDOW: usize = 256;

/// Keeps rounds from following each other without a pause.
const SHORTEST_NAP: Duration = Duration::from_millis(1);

/// Makes rounds until the handle is gone and nothing is left to keep.
pub(super) async fn rounds(open: Open, means: Means) {
    let post = Arc::clone(&open.0);
    let clock = means.clock;
    let mut errands = JoinSet::new();
    let mut renewals: JoinSet<Option<Moment>> = JoinSet::new();
    let mut backlog = VecDeque::new();
    let mut next = None;
    loop {
        while renewals.len() < WINDOW
            && let Some(lease) = backlog.pop_front()
        {
            renewals.spawn(renew(lease, means.clone()));
        }
        match wait(&post, &mut renewals, next.map(|next: Moment| next.since(clock.now()))).await {
            Woken::Answered(at) => next = earlier(next, at),
            Woken::Due => {
                let round = begin(&post, clock.now());
                observe::oldest_in_progress(&*means.store, round.oldest);
                backlog.extend(round.due);
                next = round.next;
                while errands.try_join_next().is_some() {}
                for errand in round.errands {
                    errands.spawn(errand.run(Arc::clone(&means.store), means.patience));
                }
                if round.last {
                    errands.join_all().await;
                    return;
                }
            }
        }
    }
}

/// Why a keeper woke up.
enum Woken {
    /// A renewal has ended; when its lease is to be renewed again.
    Answered(Option<Moment>),
    /// Something is due, or somebody has news.
    Due,
}

async fn wait(post: &Post, renewals: &mut JoinSet<Option<Moment>>, nap: Option<Duration>) -> Woken {
    let mut news = pin!(post.news.notified());
    let mut nap = nap.map(|nap| Box::pin(tokio::time::sleep(nap.max(SHORTEST_NAP))));
    poll_fn(|cx| {
        if let Poll::Ready(Some(ended)) = renewals.poll_join_next(cx) {
            return Poll::Ready(Woken::Answered(ended.ok().flatten()));
        }
        let due =
            news.as_mut().poll(cx).is_ready() || nap.as_mut().is_some_and(|nap| Pin::as_mut(nap).poll(cx).is_ready());
        if due { Poll::Ready(Woken::Due) } else { Poll::Pending }
    })
    .await
}

fn earlier(one: Option<Moment>, other: Option<Moment>) -> Option<Moment> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// What one round has to do.
struct Round {
    due: Vec<Arc<Lease>>,
    errands: Vec<Errand>,
    next: Option<Moment>,
    /// For how long the oldest claim has stood.
    oldest: Duration,
    last: bool,
}

fn begin(post: &Post, now: Moment) -> Round {
    let mut state = post.state();
    // A round that was planned stays planned, even if the leases that it was for have left: each of a row of short calls
    // would have to plan it, and wake the keeper, again.
    let mut next = state.next_round.filter(|planned| *planned > now);
    let (mut due, mut oldest) = (Vec::new(), Duration::ZERO);
    for (_, lease) in &state.leases {
        oldest = oldest.max(lease.age(now));
        match lease.renew_at() {
            // A little before its time, so that leases that are due one after the other are looked for once.
            Some(at) if at <= now.after(lease.length / 24) => {
                lease.is_asked_about();
                due.push(Arc::clone(lease));
            }
            at => next = earlier(next, at),
        }
    }
    state.next_round = next;
    let errands = std::mem::take(&mut state.errands);
    let last = state.closing && state.leases.is_empty() && errands.is_empty();
    Round { due, errands, next, oldest, last }
}

/// Renews one lease, once: what is not answered is asked again in a later round. When that is.
async fn renew(lease: Arc<Lease>, means: Means) -> Option<Moment> {
    let sent = means.clock.now();
    let patience = means.patience.min(lease.length / 3).max(SHORTEST_NAP);
    let renewal = observe::store(&*means.store, "renew", means.store.renew(&lease.key, lease.token));
    let news = match tokio::time::timeout(patience, renewal).await {
        Ok(Ok(Answer::Held)) => News::Held,
        Ok(Ok(Answer::Lost)) => News::Lost,
        Ok(Err(error)) => {
            tracing::debug!(key = %lease.key, %error, "a renewal was not answered");
            News::Silent
        }
        Err(_) => News::Silent,
    };
    lease.heard(sent, news);
    lease.renew_at()
}

/// An open post: closed when its rounds end, also when their runtime is taken away under them, or never begins them.
#[derive(Debug)]
pub(super) struct Open(pub(super) Arc<Post>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.store(false, Ordering::Release);
    }
}
