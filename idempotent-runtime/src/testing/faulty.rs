//! A store that fails on demand.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::gate::Gate;
use super::history::{Answered, Call, End, History};
use super::message::{Asks, Message, Operation};
use crate::admin::Admin;
use crate::key::Key;
use crate::record::{Completed, Recorded};
use crate::store::{
    Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Home, Release, Reply, Retention, Store, StoreError, Watch,
};
use crate::token::Token;

/// A wrapper around any store that fails, loses answers, delays or forgets where a test wants it, and remembers what
/// it was asked.
///
/// Without an armed fault it is the store inside. Clones are the same store, so a test keeps one and gives one away:
///
/// ```
/// use idempotent_runtime::testing::{Fault, FaultyStore, Operation};
/// use idempotent_runtime::{Idempotency, MemoryStore};
///
/// let store = FaultyStore::new(MemoryStore::new());
/// let idempotency = Idempotency::with_store(store.clone());
/// store.nth(Operation::Renew, 3, Fault::NeverAnswers);
/// ```
#[derive(Clone)]
pub struct FaultyStore(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    armed: Mutex<Vec<Armed>>,
    history: History,
    late: Mutex<Vec<(usize, Message)>>,
}

struct Armed {
    operation: Operation,
    /// Which call from now it is for, from 1; `None` for every one.
    nth: Option<usize>,
    fault: Fault,
}

/// What goes wrong with one call of an operation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing is applied; the caller gets a passing error.
    Fails,
    /// Nothing is applied; the caller gets an error that repeating will not mend.
    Refuses,
    /// The operation is applied; the caller gets a passing error.
    LosesAnswer,
    /// The operation waits at the gate, and is then applied and answered, unless the caller has gone away.
    WaitsBefore(Gate),
    /// The operation is applied at once; its answer waits at the gate.
    WaitsAfter(Gate),
    /// Nothing is applied, and nothing is answered: the caller's own time-out must end it.
    NeverAnswers,
    /// Nothing is answered, and nothing applied before [`deliver_late`](FaultyStore::deliver_late): a message that is
    /// still on its way when its caller has given up.
    ArrivesLate,
}

impl FaultyStore {
    /// Wraps `store`.
    pub fn new(store: impl Store) -> Self {
        Self::around(Arc::new(store))
    }

    /// Wraps a store that others share.
    #[must_use]
    pub fn around(store: Arc<dyn Store>) -> Self {
        let (armed, late) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Inner { store, armed, history: History::default(), late }))
    }

    /// Arms `fault` for the next call of `operation`.
    pub fn next(&self, operation: Operation, fault: Fault) {
        self.nth(operation, 1, fault);
    }

    /// Arms `fault` for the `nth` call of `operation` from now, counted from 1. Where several faults are armed for one
    /// call, the one armed first counts.
    pub fn nth(&self, operation: Operation, nth: usize, fault: Fault) {
        lock(&self.0.armed).push(Armed { operation, nth: Some(nth.max(1)), fault });
    }

    /// Arms `fault` for every call of `operation`, until [`heal`](Self::heal).
    pub fn always(&self, operation: Operation, fault: Fault) {
        lock(&self.0.armed).push(Armed { operation, nth: None, fault });
    }

    /// Every operation fails from now on, until [`heal`](Self::heal).
    pub fn go_down(&self) {
        for operation in Operation::ALL {
            self.always(operation, Fault::Fails);
        }
    }

    /// Disarms every fault. What waits at a gate goes on waiting.
    pub fn heal(&self) {
        lock(&self.0.armed).clear();
    }

    /// Applies every message that is still on its way, in the order in which they were sent; gives the answers, which
    /// nobody waits for.
    ///
    /// # Errors
    ///
    /// When the store inside has no answer.
    pub async fn deliver_late(&self) -> Result<Vec<Answered>, StoreError> {
        let late = std::mem::take(&mut *lock(&self.0.late));
        let mut answers = Vec::with_capacity(late.len());
        for (place, message) in late {
            let answered = message.apply(&*self.0.store).await?;
            self.0.history.end(place, End::Late(answered.clone()));
            answers.push(answered);
        }
        Ok(answers)
    }

    /// What was asked so far, in order.
    #[must_use]
    pub fn history(&self) -> Vec<Call> {
        self.0.history.calls()
    }

    /// How often `operation` was called so far.
    #[must_use]
    pub fn calls(&self, operation: Operation) -> usize {
        count(&self.history(), operation)
    }

    /// Waits until `operation` has been called so often in all.
    pub async fn called(&self, operation: Operation, times: usize) {
        self.0.history.until(|calls| count(calls, operation) >= times).await;
    }

    /// Waits until no call is waiting for its answer.
    pub async fn quiet(&self) {
        self.0.history.until(|calls| calls.iter().all(|call| call.end != End::Waiting)).await;
    }

    /// Sends a message to the store inside, as the fault armed for it wills.
    async fn send(&self, message: Message) -> Result<Answered, StoreError> {
        let place = self.0.history.enter(&message);
        let _leave = Leave { history: &self.0.history, place };
        let store = &*self.0.store;
        let (answer, lost) = match self.0.fault_for(message.operation()) {
            None => (message.apply(store).await, None),
            Some(Fault::Fails) => (Err(StoreError::unavailable("a fault of the test: failed")), None),
            Some(Fault::Refuses) => (Err(StoreError::refused("a fault of the test: refused")), None),
            Some(Fault::LosesAnswer) => {
                let lost = message.apply(store).await?;
                (Err(StoreError::unavailable("a fault of the test: answer lost")), Some(lost))
            }
            Some(Fault::WaitsBefore(gate)) => {
                gate.pass().await;
                (message.apply(store).await, None)
            }
            Some(Fault::WaitsAfter(gate)) => {
                let answer = message.apply(store).await;
                gate.pass().await;
                (answer, None)
            }
            Some(Fault::NeverAnswers) => std::future::pending().await,
            Some(Fault::ArrivesLate) => {
                lock(&self.0.late).push((place, message));
                std::future::pending().await
            }
        };
        let end = match &answer {
            Ok(answered) => End::Answered(answered.clone()),
            Err(error) => End::Failed(error.kind(), lost),
        };
        self.0.history.end(place, end);
        answer
    }

    async fn claimed(&self, message: Message) -> Result<ClaimAnswer, StoreError> {
        match self.send(message).await? {
            Answered::Claim(answer) => Ok(answer),
            other => unreachable!("a claim was answered with {other:?}"),
        }
    }

    async fn completed(&self, message: Message) -> Result<CompleteAnswer, StoreError> {
        match self.send(message).await? {
            Answered::Complete(answer) => Ok(answer),
            other => unreachable!("a completion was answered with {other:?}"),
        }
    }

    async fn settled(&self, message: Message) -> Result<Answer, StoreError> {
        match self.send(message).await? {
            Answered::Plain(answer) => Ok(answer),
            other => unreachable!("a plain operation was answered with {other:?}"),
        }
    }
}

impl Inner {
    /// The fault that this call meets, if any; it counts as one call for all that are armed.
    fn fault_for(&self, operation: Operation) -> Option<Fault> {
        let mut armed = lock(&self.armed);
        let mut met = None;
        armed.retain_mut(|armed| {
            if armed.operation != operation {
                return true;
            }
            let (is_met, stays) = match &mut armed.nth {
                None => (true, true),
                Some(nth) => {
                    *nth -= 1;
                    (*nth == 0, *nth > 0)
                }
            };
            if is_met && met.is_none() {
                met = Some(armed.fault.clone());
            }
            stays
        });
        met
    }
}

fn count(calls: &[Call], operation: Operation) -> usize {
    calls.iter().filter(|call| call.operation == operation).count()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes in the history that a caller has gone away.
struct Leave<'a> {
    history: &'a History,
    place: usize,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.history.leave(self.place);
    }
}

impl Store for FaultyStore {
    fn claim<'a>(&'a self, key: &'a Key, request: &'a ClaimRequest<'a>) -> Reply<'a, ClaimAnswer> {
        Box::pin(async move { self.claimed(Message::new(key, request.token, Asks::Claim(request.into()))).await })
    }

    fn begin<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
        Box::pin(async move { self.settled(Message::new(key, token, Asks::Begin)).await })
    }

    fn renew<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
        Box::pin(async move { self.settled(Message::new(key, token, Asks::Renew)).await })
    }

    fn complete<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        result: &'a Recorded,
        retention: Retention,
    ) -> Reply<'a, CompleteAnswer> {
        Box::pin(async move {
            let asks = Asks::Complete { result: result.clone(), retention };
            self.completed(Message::new(key, token, asks)).await
        })
    }

    fn release<'a>(&'a self, key: &'a Key, token: Token, release: Release<'a>, lease: Duration) -> Reply<'a, Answer> {
        Box::pin(async move {
            let error = match release {
                Release::Failed(error) => Some(error.to_owned()),
                Release::GivenUp => None,
            };
            self.settled(Message::new(key, token, Asks::Release { error, lease })).await
        })
    }

    fn put_back<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        lease: Duration,
        superseded: Option<(&'a Completed, Retention)>,
    ) -> Reply<'a, Answer> {
        Box::pin(async move {
            let superseded = superseded.map(|(record, retention)| (record.clone(), retention));
            self.settled(Message::new(key, token, Asks::PutBack { lease, superseded })).await
        })
    }

    fn watch(&self, key: &Key) -> Watch {
        self.0.store.watch(key)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        self.0.store.admin()
    }

    fn home(&self) -> Home {
        self.0.store.home()
    }

    fn name(&self) -> &'static str {
        self.0.store.name()
    }
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let armed: Vec<_> = lock(&self.0.armed).iter().map(|a| (a.operation, a.nth, a.fault.clone())).collect();
        f.debug_struct("FaultyStore").field("store", &self.0.store).field("armed", &armed).finish_non_exhaustive()
    }
}
