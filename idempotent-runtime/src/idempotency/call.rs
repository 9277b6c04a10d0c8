//! The functional form: a guarded call without the attribute.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Core;
use crate::error::{Error, ErrorKind};
use crate::fingerprint::{Fingerprint, Fingerprinted};
use crate::guard::Guard;
use crate::key::{KeyBuilder, KeyPart, check_name};
use crate::policy::{OnDuplicate, OnOutage, Policy, Ttl};
use crate::reply;
use crate::run::Call;

/// A guarded call in the making; see [`Idempotency::call`](super::Idempotency::call).
///
/// `key` (one or more) and `ttl` are required. A mistake is an error of the call, before anything runs.
#[must_use = "a call does nothing until it is run"]
pub struct CallBuilder {
    core: Arc<Core>,
    key: KeyBuilder,
    fingerprint: Vec<u8>,
    fingerprinted: bool,
    policy: Policy,
    error: Option<Error>,
}

impl CallBuilder {
    pub(super) fn new(core: Arc<Core>, prefix: &str) -> Self {
        let error = check_name(prefix).err().map(|why| Error::configuration(format!("the prefix {prefix:?}: {why}")));
        let key = KeyBuilder::new(core.namespace.as_deref(), prefix);
        Self { core, key, fingerprint: Vec::new(), fingerprinted: false, policy: Policy::new(Ttl::PerCall), error }
    }

    /// Adds a part to the key: what names the business action. Call it once for each part, in a fixed order.
    pub fn key(mut self, part: impl KeyPart) -> Self {
        self.key.push(&part);
        self
    }

    /// Adds an argument to the fingerprint: what must not differ between two calls with one key.
    pub fn fingerprint(mut self, argument: &impl Serialize) -> Self {
        self.fingerprinted = true;
        if let Err(why) = argument.digest_into(&mut self.fingerprint) {
            self.error.get_or_insert_with(|| Error::new(ErrorKind::Fingerprint).because(why));
        }
        self
    }

    /// How long the completed record is kept, from completion: at least 10 ms.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.policy.ttl = Ttl::For(ttl);
        self
    }

    /// How long the claim stands unless renewed: 10 ms to a day, 30 s by default.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.policy.lease = lease;
        self
    }

    /// What the call does when the store cannot be asked. [`OnOutage::Reject`] by default.
    pub fn on_outage(mut self, on_outage: OnOutage) -> Self {
        self.policy.on_outage = on_outage;
        self
    }

    /// Runs `body` unless its action is done already; a duplicate gets the recorded value.
    ///
    /// # Errors
    ///
    /// The body's own, unchanged; or an [`Error`], by `From`, when the body was not run or its answer cannot be given.
    pub fn run<F, T, E>(self, body: F) -> impl Future<Output = Result<T, E>> + use<F, T, E>
    where
        F: Future<Output = Result<T, E>>,
        T: Serialize + DeserializeOwned,
        E: From<Error>,
    {
        let guard = self.guard();
        Call::new(guard, reply::value::<Result<T, E>>(), reply::error()).run(body)
    }

    /// Runs `body` unless its action is done already; nothing is recorded, a duplicate gets `T::default()`.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    pub fn run_or_skip<F, T, E>(mut self, body: F) -> impl Future<Output = Result<T, E>> + use<F, T, E>
    where
        F: Future<Output = Result<T, E>>,
        T: Default,
        E: From<Error>,
    {
        self.policy.on_duplicate = OnDuplicate::Skip;
        let guard = self.guard();
        Call::new(guard, reply::skipped::<Result<T, E>>(), reply::error()).run(body)
    }

    /// Runs `body` unless its action is done already; nothing is recorded, a duplicate gets an error of kind
    /// `Duplicate`.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    pub fn run_or_reject<F, T, E>(mut self, body: F) -> impl Future<Output = Result<T, E>> + use<F, T, E>
    where
        F: Future<Output = Result<T, E>>,
        E: From<Error>,
    {
        self.policy.on_duplicate = OnDuplicate::Reject;
        let guard = self.guard();
        Call::new(guard, reply::unrecorded::<Result<T, E>>(), reply::error()).run(body)
    }

    fn guard(self) -> Result<Guard, Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let key = self
            .key
            .finish()
            .map_err(|position| Error::new(ErrorKind::MissingKeyPart).detail(format!("key part {}", position + 1)))?;
        let fingerprint = self.fingerprinted.then(|| Fingerprint::of_bytes(&self.fingerprint));
        Guard::new(self.core, key, fingerprint, self.policy)
    }
}

impl fmt::Debug for CallBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallBuilder").field("key", &self.key).field("policy", &self.policy).finish_non_exhaustive()
    }
}
