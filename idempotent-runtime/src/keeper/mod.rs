//! The keeper: renews every live lease of a handle, and finishes what calls leave behind.
//!
//! A store behind a network gets a thread, a runtime and so a connection of its own ([`Home::Thread`]): a handler that
//! blocks its thread, or a runtime that ends, stops no renewal. A store inside the process is kept on the runtime of
//! each caller ([`Home::Caller`]), so that a paused clock works.
//!
//! A lease is enlisted once its claim is acquired, and leaves last: after the store has answered to its end.

mod errand;
mod round;

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use slab::Slab;
use tokio::runtime::{Handle, Id};
use tokio::sync::Notify;

pub(crate) use errand::{Errand, Work};
use round::{Means, Open};

use crate::clock::{Clock, Moment};
use crate::lease::Lease;
use crate::store::{Home, Store};

/// One keeper per handle.
#[derive(Debug)]
pub(crate) struct Keeper {
    means: Means,
    posts: Posts,
    pending: Arc<Pending>,
}

/// Where rounds are made.
#[derive(Debug)]
enum Posts {
    /// One, on a thread of its own, started at first need.
    Thread(Mutex<Option<Arc<Post>>>),
    /// One on each runtime that calls.
    Callers(Mutex<HashMap<Id, Arc<Post>>>),
}

/// One place where rounds are made: the leases kept there and the errands handed in.
#[derive(Debug)]
pub(crate) struct Post {
    state: Mutex<PostState>,
    news: Notify,
    /// Rounds are being made. Off after the runtime that made them has ended.
    open: AtomicBool,
}

#[derive(Debug)]
struct PostState {
    leases: Slab<Arc<Lease>>,
    errands: Vec<Errand>,
    /// When the next round is planned: an earlier need wakes the keeper.
    next_round: Option<Moment>,
    /// The handle is gone: end when nothing is left.
    closing: bool,
}

/// Everything that `shutdown` waits for: live claims and unfinished errands.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    count: AtomicUsize,
    none: Notify,
}

/// One pending thing; counted until dropped.
#[derive(Debug)]
pub(crate) struct Counted(Arc<Pending>);

impl Pending {
    pub(crate) fn one(self: &Arc<Self>) -> Counted {
        self.count.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(self))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.none.notify_waiters();
        }
    }
}

/// A lease that is being renewed; it is forgotten when this is dropped.
#[derive(Debug)]
pub(crate) struct Enlisted {
    lease: Arc<Lease>,
    post: Arc<Post>,
    place: usize,
    _counted: Counted,
}

impl Enlisted {
    pub(crate) fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    /// Has the lease renewed now rather than at its time: its holder waits for the store's word.
    pub(crate) fn hurry(&self) {
        self.post.news.notify_one();
    }
}

impl Drop for Enlisted {
    fn drop(&mut self) {
        self.post.state().leases.try_remove(self.place);
    }
}

impl Keeper {
    /// `patience` bounds how long one answer of the store is waited for.
    pub(crate) fn new(store: Arc<dyn Store>, clock: Clock, patience: Duration) -> Self {
        let posts = match store.home() {
            Home::Thread => Posts::Thread(Mutex::default()),
            Home::Caller => Posts::Callers(Mutex::default()),
        };
        Self { means: Means { store, clock, patience }, posts, pending: Arc::default() }
    }

    /// Keeps `lease` renewed until the answer is dropped.
    pub(crate) fn enlist(&self, lease: Arc<Lease>) -> Enlisted {
        let post = self.post();
        let due = lease.renew_at();
        let (place, early) = {
            let mut state = post.state();
            let place = state.leases.insert(Arc::clone(&lease));
            let early = due.is_some_and(|due| state.next_round.is_none_or(|next| due < next));
            if early {
                state.next_round = due;
            }
            (place, early)
        };
        if early {
            post.news.notify_one();
        }
        Enlisted { lease, post, place, _counted: self.pending.one() }
    }

    /// Does `work` in the background until the store has answered, or it is of no use any more.
    ///
    /// A store inside the process answers at once: then nothing is left for the background, and it works also where no
    /// runtime is left.
    pub(crate) fn send(&self, errand: Errand) {
        // A claim that is still enlisted is counted there.
        let counted = (!errand.is_enlisted()).then(|| self.pending.one());
        let inside = self.means.store.home() == Home::Caller;
        if inside && errand.at_once(&self.means.store) {
            return;
        }
        if inside && Handle::try_current().is_err() {
            tracing::warn!(key = %errand.key(), "no runtime is left to finish a call on; its lease will lapse");
            return;
        }
        let post = self.post();
        post.state().errands.push(errand.counted(counted));
        post.news.notify_one();
    }

    /// Counts one more thing that a shutdown waits for.
    #[cfg(feature = "http")]
    pub(crate) fn pending(&self) -> Counted {
        self.pending.one()
    }

    /// Waits until nothing is pending, at most for `timeout`. What is left then.
    pub(crate) async fn drained(&self, timeout: Duration) -> usize {
        let waiting = async {
            loop {
                let none = self.pending.none.notified();
                tokio::pin!(none);
                none.as_mut().enable();
                if self.pending.count.load(Ordering::Acquire) == 0 {
                    return;
                }
                none.await;
            }
        };
        let _ = tokio::time::timeout(timeout, waiting).await;
        self.pending.count.load(Ordering::Acquire)
    }

    fn post(&self) -> Arc<Post> {
        match &self.posts {
            Posts::Thread(post) => {
                let mut post = lock(post);
                match &*post {
                    Some(post) if post.is_open() => Arc::clone(post),
                    _ => Arc::clone(post.insert(self.open_thread())),
                }
            }
            Posts::Callers(posts) => {
                let runtime = Handle::current();
                let mut posts = lock(posts);
                match posts.get(&runtime.id()) {
                    Some(post) if post.is_open() => Arc::clone(post),
                    _ => {
                        posts.retain(|_, post| post.is_open());
                        let post = Post::open();
                        drop(runtime.spawn(self.rounds(&post)));
                        posts.insert(runtime.id(), Arc::clone(&post));
                        post
                    }
                }
            }
        }
    }

    fn open_thread(&self) -> Arc<Post> {
        let post = Post::open();
        let rounds = self.rounds(&post);
        let started = std::thread::Builder::new().name("idempotent-keeper".into()).spawn(move || {
            match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime.block_on(rounds),
                Err(error) => tracing::error!(%error, "the keeper has no runtime; leases will not be renewed"),
            }
        });
        if let Err(error) = started {
            tracing::error!(%error, "the keeper has no thread; leases will not be renewed");
        }
        post
    }

    fn rounds(&self, post: &Arc<Post>) -> impl Future<Output = ()> + Send + use<> {
        round::rounds(Open(Arc::clone(post)), self.means.clone())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let close = |post: &Arc<Post>| {
            post.state().closing = true;
            post.news.notify_one();
        };
        match &self.posts {
            Posts::Thread(post) => lock(post).iter().for_each(close),
            Posts::Callers(posts) => lock(posts).values().for_each(close),
        }
    }
}

impl Post {
    fn open() -> Arc<Self> {
        let state = PostState { leases: Slab::new(), errands: Vec::new(), next_round: None, closing: false };
        Arc::new(Self { state: Mutex::new(state), news: Notify::new(), open: AtomicBool::new(true) })
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    fn state(&self) -> MutexGuard<'_, PostState> {
        lock(&self.state)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of a user runs under these locks, and nothing inside them panics half way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
