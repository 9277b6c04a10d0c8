//! The keeper's rounds: renew what is due, do what was handed in, sleep until the next need.

use std::sync::Arc;
use std::sync::atomic::Ordering;
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

/// Makes rounds until the handle is gone and nothing is left to keep.
pub(super) async fn rounds(open: Open, means: Means) {
    let post = Arc::clone(&open.0);
    let clock = means.clock;
    let mut errands = JoinSet::new();
    loop {
        let round = begin(&post, clock.now());
        for lease in round.due {
            tokio::spawn(renew(lease, means.clone(), Arc::clone(&post)));
        }
        while errands.try_join_next().is_some() {}
        for errand in round.errands {
            errands.spawn(errand.run(Arc::clone(&means.store), means.patience));
        }
        if round.last {
            errands.join_all().await;
            return;
        }
        let news = post.news.notified();
        match round.next {
            Some(next) => {
                let _ = tokio::time::timeout(next.since(clock.now()).max(SHORTEST_NAP), news).await;
            }
            None => news.await,
        }
    }
}

/// Keeps rounds from following each other without a pause.
const SHORTEST_NAP: Duration = Duration::from_millis(1);

/// What one round has to do.
struct Round {
    due: Vec<Arc<Lease>>,
    errands: Vec<Errand>,
    next: Option<Moment>,
    last: bool,
}

fn begin(post: &Post, now: Moment) -> Round {
    let mut state = post.state();
    let mut next: Option<Moment> = None;
    let mut due = Vec::new();
    for (_, lease) in &state.leases {
        match lease.renew_at() {
            Some(at) if at <= now => due.push(Arc::clone(lease)),
            Some(at) => next = Some(next.map_or(at, |next| next.min(at))),
            None => {}
        }
    }
    state.next_round = next;
    let errands = std::mem::take(&mut state.errands);
    let last = state.closing && state.leases.is_empty() && errands.is_empty();
    Round { due, errands, next, last }
}

/// Renews one lease, once: what is not answered is asked again in a later round.
async fn renew(lease: Arc<Lease>, means: Means, post: Arc<Post>) {
    let sent = lease.asking();
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
    post.news.notify_one();
}

/// An open post: closed when its rounds end, also when their runtime is taken away under them, or never begins them.
#[derive(Debug)]
pub(super) struct Open(pub(super) Arc<Post>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.store(false, Ordering::Release);
    }
}
