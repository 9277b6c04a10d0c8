//! One trial of one case: its key, its calls, its time, and what it expects of the answers.

use std::future::Future;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::answers::{Claim, Complete, Held};
use super::harness::Harness;
use crate::admin::{Inspected, State};
use crate::fingerprint::Fingerprint;
use crate::key::Key;
use crate::record::{CodecTag, Completed, Encoded, Recorded};
use crate::store::{ClaimRequest, Found, OnLapse, Release, Retention, Store, StoreError};
use crate::token::Token;

/// Long enough that it never ends within a case, on any clock.
pub(super) const LONG: Duration = Duration::from_mins(10);

/// A [`Harness`] with a key for one case.
pub(super) struct Trial<'a> {
    pub(super) harness: &'a dyn Harness,
    pub(super) store: Arc<dyn Store>,
    pub(super) key: Key,
    name: &'static str,
}

/// One call's claim, as a request that can be changed field by field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call(pub(super) ClaimRequest<'static>);

impl<'a> Trial<'a> {
    pub(super) fn new(harness: &'a dyn Harness, name: &'static str) -> Self {
        let key = harness.keys().one(&format!("conformance:{name}:{}", Token::random()));
        Self { harness, store: harness.store(), key, name }
    }

    /// The same trial under another key.
    pub(super) fn under(&self, key: Key) -> Self {
        Self { harness: self.harness, store: Arc::clone(&self.store), key, name: self.name }
    }

    pub(super) fn key_like(&self, tail: &str) -> Key {
        self.harness.keys().another(&self.key, tail)
    }

    /// A key with this text at its end.
    pub(super) fn key_ending(&self, tail: &str) -> Key {
        self.harness.keys().one(&format!("{}:{tail}", self.key.entity()))
    }

    // Time.

    /// Lets the lease of `call` lapse, if it started before now.
    pub(super) async fn lapse(&self, call: Call) {
        self.harness.pass(call.0.lease + self.harness.tick() / 2).await;
    }

    /// Lets some ticks pass; a half is enough to be sure on which side of a whole one it is.
    pub(super) async fn ticks(&self, ticks: f32) {
        self.harness.pass(self.harness.tick().mul_f32(ticks)).await;
    }

    /// A retention of two ticks.
    pub(super) fn brief_retention(&self) -> Retention {
        Retention::For(2 * self.harness.tick())
    }

    // Calls.

    /// A call whose lease is soon over: for what happens after.
    pub(super) fn brief(&self, owner: &'static str) -> Call {
        call(owner).lease(2 * self.harness.tick())
    }

    /// A call whose lease leaves room for a few operations, and can be waited for.
    pub(super) fn roomy(&self, owner: &'static str) -> Call {
        call(owner).lease(10 * self.harness.tick())
    }

    // Operations: each fails the case when the store gives no answer.

    pub(super) async fn claim(&self, call: Call) -> Claim {
        Claim(self.answer("claim", self.store.claim(&self.key, &call.0)).await)
    }

    /// Looks at a record that is live, completed, or lapsed and begun, without changing it.
    pub(super) async fn look(&self) -> Claim {
        self.claim(call("observer").hold()).await
    }

    /// Looks at a record that has failed after a run, without changing it.
    pub(super) async fn look_at_failed(&self) -> Claim {
        self.claim(call("observer").max(1)).await
    }

    /// The record as a person sees it; `None` where the store has no administration.
    pub(super) async fn inspect(&self) -> Option<Option<Inspected>> {
        let admin = self.store.admin()?;
        Some(self.answer("inspect", admin.inspect(&self.key)).await)
    }

    /// The failed record shows this error, where the store can show one.
    pub(super) async fn shows_error(&self, error: &str) {
        match self.inspect().await {
            None => {}
            Some(Some(Inspected { state: State::Failed { last_error }, .. })) => assert_eq!(*last_error, *error),
            Some(other) => panic!("expected a failed record with the error {error:?}; got {other:?}"),
        }
    }

    pub(super) async fn begin(&self, call: Call) -> Held {
        Held(self.answer("begin", self.store.begin(&self.key, call.0.token)).await)
    }

    pub(super) async fn renew(&self, call: Call) -> Held {
        Held(self.answer("renew", self.store.renew(&self.key, call.0.token)).await)
    }

    pub(super) async fn complete(&self, call: Call) -> Complete {
        self.complete_with(call, &value(b"1"), Retention::For(LONG)).await
    }

    pub(super) async fn complete_with(&self, call: Call, result: &Recorded, retention: Retention) -> Complete {
        Complete(self.answer("complete", self.store.complete(&self.key, call.0.token, result, retention)).await)
    }

    pub(super) async fn release(&self, call: Call, error: &str) -> Held {
        self.release_as(call, Release::Failed(error)).await
    }

    pub(super) async fn give_up(&self, call: Call) -> Held {
        self.release_as(call, Release::GivenUp).await
    }

    async fn release_as(&self, call: Call, release: Release<'_>) -> Held {
        Held(self.answer("release", self.store.release(&self.key, call.0.token, release, call.0.lease)).await)
    }

    pub(super) async fn put_back(&self, call: Call) -> Held {
        self.put_back_to(call, None).await
    }

    pub(super) async fn put_back_to(&self, call: Call, superseded: Option<&Completed>) -> Held {
        let superseded = superseded.map(|record| (record, Retention::For(LONG)));
        Held(self.answer("put_back", self.store.put_back(&self.key, call.0.token, call.0.lease, superseded)).await)
    }

    async fn answer<T>(&self, operation: &str, answer: impl Future<Output = Result<T, StoreError>>) -> T {
        match answer.await {
            Ok(answer) => answer,
            Err(error) => panic!("{operation} of {:?} got no answer: {error}", self.key),
        }
    }

    // Records in a certain state.

    /// `A` has a live claim.
    pub(super) async fn live(&self) -> Call {
        let a = call("A");
        self.claim(a).await.acquired(1, Found::Absent);
        a
    }

    /// `A`'s claim had begun and has lapsed.
    pub(super) async fn lapsed(&self) -> Call {
        self.lapsed_as(self.brief("A")).await
    }

    /// `A`'s claim has lapsed before it began.
    pub(super) async fn lapsed_unbegun(&self) -> Call {
        self.lapsed_as(self.brief("A").unbegun()).await
    }

    pub(super) async fn lapsed_as(&self, a: Call) -> Call {
        self.claim(a).await.acquired(1, Found::Absent);
        self.lapse(a).await;
        a
    }

    /// `A` has given up.
    pub(super) async fn given_up(&self) -> Call {
        let a = self.live().await;
        self.give_up(a).await.held();
        a
    }

    /// `A` has failed, with the error `burnt`.
    pub(super) async fn failed(&self) -> Call {
        let a = self.live().await;
        self.release(a, "burnt").await.held();
        a
    }

    /// `A` has completed.
    pub(super) async fn completed(&self) -> (Call, Completed) {
        self.completed_as(call("A")).await
    }

    pub(super) async fn completed_as(&self, a: Call) -> (Call, Completed) {
        self.claim(a).await.acquired(1, Found::Absent);
        self.complete(a).await.held();
        (a, a.completed(1, value(b"1")))
    }
}

impl std::fmt::Debug for Trial<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trial").field("name", &self.name).field("key", &self.key).finish_non_exhaustive()
    }
}

impl Call {
    pub(super) fn lease(mut self, lease: Duration) -> Self {
        self.0.lease = lease;
        self
    }

    pub(super) fn retention(mut self, retention: Duration) -> Self {
        (self.0.retention, self.0.held) = (Retention::For(retention), Retention::For(retention));
        self
    }

    /// Runs that have begun are kept for this long.
    pub(super) fn held(mut self, held: Duration) -> Self {
        self.0.held = Retention::For(held);
        self
    }

    pub(super) fn forever(mut self) -> Self {
        (self.0.retention, self.0.held) = (Retention::Forever, Retention::Forever);
        self
    }

    pub(super) fn hold(mut self) -> Self {
        self.0.on_lapse = OnLapse::Hold;
        self
    }

    pub(super) fn max(mut self, attempts: u32) -> Self {
        self.0.max_attempts = NonZeroU32::new(attempts);
        self
    }

    pub(super) fn unbegun(mut self) -> Self {
        self.0.begun = false;
        self
    }

    pub(super) fn fenced(mut self) -> Self {
        self.0.fenced = true;
        self
    }

    pub(super) fn fingerprint(mut self, digest: u128) -> Self {
        self.0.fingerprint = Some(Fingerprint::from_u128(digest));
        self
    }

    pub(super) fn supersede(mut self, record: &Completed) -> Self {
        self.0.supersede = Some(record.token);
        self
    }

    /// The record that this call leaves when it completes.
    pub(super) fn completed(&self, attempt: u32, result: Recorded) -> Completed {
        Completed { token: self.0.token, attempt, fingerprint: self.0.fingerprint, result }
    }
}

/// A call with a token of its own: begun at once, takes over what has lapsed, a lease that does not lapse.
pub(super) fn call(owner: &'static str) -> Call {
    Call(ClaimRequest {
        token: Token::random(),
        owner,
        fingerprint: None,
        lease: LONG,
        retention: Retention::For(3 * LONG),
        held: Retention::For(3 * LONG),
        on_lapse: OnLapse::TakeOver,
        max_attempts: None,
        supersede: None,
        begun: true,
        fenced: false,
    })
}

/// A result of these bytes.
pub(super) fn value(bytes: &[u8]) -> Recorded {
    Recorded::Value(Encoded { codec: CodecTag::JSON, bytes: bytes.into() })
}
