//! A store in front that fails now and then, and the harness around two stores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idempotent_runtime::admin::{Admin, Change, Changed, Concern, Inspected, Leases, Page, Query, Seen, Swept};
use idempotent_runtime::conformance::TokioClock;
use idempotent_runtime::store::{
    Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Home, Release, Reply, Retention, TieredStore, Watch,
};
use idempotent_runtime::{Completed, Key, MemoryStore, Recorded, Store, StoreError, Token};

/// What happens at every operation of a certain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    Nothing,
    /// It has lost everything.
    Emptied,
    /// It does not carry the operation out.
    Fails,
    /// It carries the operation out, and does not say so.
    LosesAnswers,
    /// It goes back to what it had some operations ago.
    FailsOver,
}

/// A store in front.
#[derive(Debug)]
pub(crate) struct Shaky {
    now: Mutex<Arc<MemoryStore>>,
    /// Gets only some of the operations.
    replica: Mutex<Arc<MemoryStore>>,
    harm: Harm,
    every: usize,
    asked: AtomicUsize,
}

enum Turn {
    Ask(Vec<Arc<MemoryStore>>),
    Fail,
    Lose(Arc<MemoryStore>),
}

impl Shaky {
    pub(crate) fn new(harm: Harm, every: usize) -> Self {
        let (now, replica) = (Mutex::default(), Mutex::default());
        Self { now, replica, harm, every, asked: AtomicUsize::new(0) }
    }

    fn turn(&self) -> Turn {
        let at = 1 + self.asked.fetch_add(1, Ordering::Relaxed);
        let mut now = self.now.lock().unwrap();
        let its_turn = at.is_multiple_of(self.every);
        match self.harm {
            Harm::Emptied if its_turn => *now = Arc::default(),
            Harm::Fails if its_turn => return Turn::Fail,
            Harm::LosesAnswers if its_turn => return Turn::Lose(Arc::clone(&now)),
            Harm::FailsOver if its_turn => {
                *now = std::mem::take(&mut *self.replica.lock().unwrap());
            }
            // The last ones before it goes are not copied.
            Harm::FailsOver if at % self.every < self.every / 2 => {
                return Turn::Ask(vec![Arc::clone(&now), Arc::clone(&self.replica.lock().unwrap())]);
            }
            _ => {}
        }
        Turn::Ask(vec![Arc::clone(&now)])
    }
}

/// An operation on a shaky store, as a reply.
macro_rules! shaky {
    ($shaky:expr, $store:ident => $operation:expr) => {
        Box::pin(async move {
            let failed = || StoreError::unavailable("it is shaky");
            match $shaky.turn() {
                Turn::Fail => Err(failed()),
                Turn::Lose($store) => {
                    $operation.await?;
                    Err(failed())
                }
                Turn::Ask(stores) => {
                    let mut answer = Err(failed());
                    for $store in stores.iter().rev() {
                        answer = $operation.await;
                    }
                    answer
                }
            }
        })
    };
}

impl Store for Shaky {
    fn claim<'a>(&'a self, key: &'a Key, request: &'a ClaimRequest<'a>) -> Reply<'a, ClaimAnswer> {
        shaky!(self, store => store.claim(key, request))
    }

    fn begin<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
        shaky!(self, store => store.begin(key, token))
    }

    fn renew<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
        shaky!(self, store => store.renew(key, token))
    }

    fn complete<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        result: &'a Recorded,
        retention: Retention,
    ) -> Reply<'a, CompleteAnswer> {
        shaky!(self, store => store.complete(key, token, result, retention))
    }

    fn release<'a>(&'a self, key: &'a Key, token: Token, release: Release<'a>, lease: Duration) -> Reply<'a, Answer> {
        shaky!(self, store => store.release(key, token, release, lease))
    }

    fn put_back<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        lease: Duration,
        superseded: Option<(&'a Completed, Retention)>,
    ) -> Reply<'a, Answer> {
        shaky!(self, store => store.put_back(key, token, lease, superseded))
    }

    /// What is lost here can wake nobody.
    fn watch(&self, key: &Key) -> Watch {
        if self.harm == Harm::Nothing { self.now.lock().unwrap().watch(key) } else { Watch::never() }
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }

    fn home(&self) -> Home {
        Home::Caller
    }

    fn name(&self) -> &'static str {
        "shaky"
    }
}

impl Admin for Shaky {
    fn inspect<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Inspected>> {
        shaky!(self, store => store.admin().expect("it has one").inspect(key))
    }

    fn change<'a>(&'a self, key: &'a Key, seen: &'a Inspected, change: &'a Change) -> Reply<'a, Changed> {
        shaky!(self, store => store.admin().expect("it has one").change(key, seen, change))
    }

    fn list<'a>(&'a self, query: &'a Query) -> Reply<'a, Page> {
        shaky!(self, store => store.admin().expect("it has one").list(query))
    }

    fn remove<'a>(&'a self, key: &'a Key, seen: Seen, leases: Leases) -> Reply<'a, Changed> {
        shaky!(self, store => store.admin().expect("it has one").remove(key, seen, leases))
    }

    fn sweep(&self, batch: u32) -> Reply<'_, Swept> {
        shaky!(self, store => store.admin().expect("it has one").sweep(batch))
    }

    fn check(&self) -> Reply<'_, Vec<Concern>> {
        shaky!(self, store => store.admin().expect("it has one").check())
    }
}

/// Memory behind a shaky store, on a paused clock.
pub(crate) fn tiers(harm: Harm, every: usize) -> TokioClock {
    let store = TieredStore::builder(Shaky::new(harm, every), MemoryStore::new());
    // Beyond the longest lease of a case, so that what is left of one is the same in both.
    TokioClock::pause(store.front_ttl(Duration::from_hours(1)).build())
}
