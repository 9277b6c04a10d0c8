//! A store that writes down what is asked of it and what it answers, and changes nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idempotent_runtime::admin::Admin;
use idempotent_runtime::store::{
    Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Home, Release, Reply as When, Retention, StoreError, Watch,
};
use idempotent_runtime::{Completed, Key, Recorded, Store, Token};

use crate::history::{Asked, Event, Log, Op, Reply};

tokio::task_local! {
    /// The call that this task makes.
    pub(crate) static CALL: Op;
}

/// The store inside, watched.
#[derive(Clone, Debug)]
pub(crate) struct Journal<S> {
    store: S,
    log: Arc<Log>,
    next: Arc<AtomicU64>,
}

impl<S: Store> Journal<S> {
    pub(crate) fn new(store: S, log: Arc<Log>) -> Self {
        Self { store, log, next: Arc::default() }
    }

    async fn watched<T>(
        &self,
        key: &Key,
        token: Token,
        asked: Asked,
        answer: impl Future<Output = Result<T, StoreError>>,
        read: impl FnOnce(&T) -> Reply,
    ) -> Result<T, StoreError> {
        let op = self.next.fetch_add(1, Ordering::Relaxed);
        let (call, token) = (CALL.try_with(|call| *call).ok(), token.text().as_str().to_owned());
        self.log.write(&Event::Sent { op, call, key: number(key), token, asked });
        let answer = answer.await;
        let reply = answer.as_ref().map_or_else(|error| Reply::Error(error.to_string()), read);
        self.log.write(&Event::Received { op, reply });
        answer
    }
}

/// The last part of a key is its number.
pub(crate) fn number(key: &Key) -> u64 {
    key.as_str().rsplit(':').next().and_then(|number| number.parse().ok()).expect("a key of ours ends with a number")
}

fn value(recorded: &Recorded) -> Option<u64> {
    match recorded {
        Recorded::Value(encoded) => serde_json::from_slice(&encoded.bytes).ok(),
        _ => None,
    }
}

fn claimed(answer: &ClaimAnswer) -> Reply {
    match answer {
        ClaimAnswer::Acquired(acquired) => Reply::Acquired { attempt: acquired.attempt },
        ClaimAnswer::Completed(completed) => Reply::Completed(value(&completed.result)),
        ClaimAnswer::Lost => Reply::Lost,
        other => Reply::Not(format!("{other:?}")),
    }
}

fn plain(answer: Answer) -> Reply {
    match answer {
        Answer::Held => Reply::Held,
        Answer::Lost => Reply::Lost,
    }
}

fn completed(answer: &CompleteAnswer) -> Reply {
    match answer {
        CompleteAnswer::Held => Reply::Held,
        CompleteAnswer::Lost(_) => Reply::Lost,
        CompleteAnswer::Absent => Reply::Absent,
    }
}

impl<S: Store> Store for Journal<S> {
    fn claim<'a>(&'a self, key: &'a Key, request: &'a ClaimRequest<'a>) -> When<'a, ClaimAnswer> {
        Box::pin(self.watched(key, request.token, Asked::Claim, self.store.claim(key, request), claimed))
    }

    fn begin<'a>(&'a self, key: &'a Key, token: Token) -> When<'a, Answer> {
        Box::pin(self.watched(key, token, Asked::Begin, self.store.begin(key, token), |answer| plain(*answer)))
    }

    fn renew<'a>(&'a self, key: &'a Key, token: Token) -> When<'a, Answer> {
        Box::pin(self.watched(key, token, Asked::Renew, self.store.renew(key, token), |answer| plain(*answer)))
    }

    fn complete<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        result: &'a Recorded,
        retention: Retention,
    ) -> When<'a, CompleteAnswer> {
        let asked = Asked::Complete(value(result));
        Box::pin(self.watched(key, token, asked, self.store.complete(key, token, result, retention), completed))
    }

    fn release<'a>(&'a self, key: &'a Key, token: Token, release: Release<'a>, lease: Duration) -> When<'a, Answer> {
        Box::pin(self.watched(key, token, Asked::Release, self.store.release(key, token, release, lease), |answer| {
            plain(*answer)
        }))
    }

    fn put_back<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        lease: Duration,
        superseded: Option<(&'a Completed, Retention)>,
    ) -> When<'a, Answer> {
        let answer = self.store.put_back(key, token, lease, superseded);
        Box::pin(self.watched(key, token, Asked::PutBack, answer, |answer| plain(*answer)))
    }

    fn watch(&self, key: &Key) -> Watch {
        self.store.watch(key)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        self.store.admin()
    }

    fn home(&self) -> Home {
        self.store.home()
    }

    fn name(&self) -> &'static str {
        self.store.name()
    }
}
