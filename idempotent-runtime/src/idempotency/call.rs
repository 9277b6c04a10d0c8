//! The functional form: a guarded call without the attribute.

#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod within;

use std::fmt;
use std::future::Future;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::checked::{Checked, Existing, Question, Unasked, Verify};
use super::replies::Replies;
use super::{Core, Mode};
use crate::error::{Error, ErrorKind};
use crate::fingerprint::{Fingerprint, Fingerprinted};
use crate::guard::Guard;
use crate::key::{KeyBuilder, KeyPart, check_name, check_step};
use crate::policy::{OnBusy, OnCrash, OnLost, OnOutage, Policy, Ttl};
use crate::run::Wired;

/// A guarded call in the making; see [`Idempotency::call`](super::Idempotency::call).
///
/// `key` (one or more) and `ttl` (or `forever`) are required. A mistake is an error of the call, before anything runs.
/// Each option means what it means in the attribute.
#[must_use = "a call does nothing until it is run"]
pub struct CallBuilder<X = Unasked, V = Unasked> {
    core: Arc<Core>,
    key: KeyBuilder,
    step: Option<String>,
    fingerprint: Option<Vec<u8>>,
    policy: Policy,
    error: Option<Error>,
    existing: X,
    verify: V,
}

impl CallBuilder {
    pub(super) fn new(core: Arc<Core>, prefix: &str) -> Self {
        let error = check_name(prefix).err().map(|why| Error::configuration(format!("the prefix {prefix:?}: {why}")));
        let key = KeyBuilder::new(core.namespace.as_deref(), prefix);
        let policy = Policy::new(Ttl::PerCall);
        Self { core, key, step: None, fingerprint: None, policy, error, existing: Unasked, verify: Unasked }
    }
}

impl<X, V> CallBuilder<X, V> {
    /// Adds a part to the key: what names the business action. Call it once for each part, in a fixed order.
    pub fn key(mut self, part: impl KeyPart) -> Self {
        self.key.push(&part);
        self
    }

    /// Names one step of the entity that the key names: letters, digits and `_ . : / -`. Each step runs once, and records
    /// a result of its own; the steps of an entity stand together in the store. Later steps can
    /// [read](crate::Claim::step) what earlier ones recorded.
    ///
    /// Prefix and step together name one kind of call: two that have both in common take each other's records for their
    /// own. Give every call with this prefix a step, or none.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::{Error, Idempotency};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::memory();
    /// let init = |step| idempotency.call("order:init").key(1001).step(step).ttl(Duration::from_secs(60));
    /// assert_eq!(init("init_token").run(async { Ok::<_, Error>("t-1".to_owned()) }).await?, "t-1");
    /// assert_eq!(init("payment_status").run(async { Ok::<_, Error>("open".to_owned()) }).await?, "open");
    /// assert_eq!(init("init_token").run(async { Ok::<_, Error>("t-2".to_owned()) }).await?, "t-1");
    /// # Ok(()) }
    /// ```
    pub fn step(mut self, step: &str) -> Self {
        if let Err(error) = check_step(step) {
            self.error.get_or_insert(error);
        }
        self.step = Some(step.to_owned());
        self
    }

    /// Adds an argument to the fingerprint: what must not differ between two calls with one key.
    pub fn fingerprint(mut self, argument: &impl Serialize) -> Self {
        if let Err(why) = argument.digest_into(self.fingerprint.get_or_insert_default()) {
            self.error.get_or_insert_with(|| Error::new(ErrorKind::Fingerprint).because(why));
        }
        self
    }

    /// How long the completed record is kept, from completion: at least 10 ms.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.policy.ttl = Ttl::For(ttl);
        self
    }

    /// Keeps the completed record until somebody removes it.
    pub fn forever(mut self) -> Self {
        self.policy.ttl = Ttl::Forever;
        self
    }

    /// How long the claim stands unless renewed: 10 ms to a day, 30 s by default.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.policy.lease = lease;
        self
    }

    /// What the call gets when its key is in progress elsewhere. [`OnBusy::Reject`] by default.
    pub fn on_busy(mut self, on_busy: OnBusy) -> Self {
        self.policy.on_busy = on_busy;
        self
    }

    /// What a crashed run means to the next call. [`OnCrash::Rerun`] by default.
    pub fn on_crash(mut self, on_crash: OnCrash) -> Self {
        self.policy.on_crash = on_crash;
        self
    }

    /// What the call does when the store cannot be asked. [`OnOutage::Reject`] by default.
    pub fn on_outage(mut self, on_outage: OnOutage) -> Self {
        self.policy.on_outage = on_outage;
        self
    }

    /// What becomes of the running body when its claim is in doubt. [`OnLost::Cancel`] by default.
    pub fn on_lost(mut self, on_lost: OnLost) -> Self {
        self.policy.on_lost = on_lost;
        self
    }

    /// How many runs may start without completing, 1 or more; then calls get an error of kind `Exhausted`. Any number
    /// by default.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.policy.max_attempts = NonZeroU32::new(attempts);
        if attempts == 0 {
            self.error.get_or_insert_with(|| Error::configuration("`max_attempts` is 0: nothing could ever run"));
        }
        self
    }

    /// Bounds one run; when it is over, the body is dropped and the call gets an error of kind `TimedOut`. Unbounded by
    /// default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.policy.timeout = Some(timeout);
        self
    }

    /// Gives the body a fence also where one costs the store extra; see [`Claim::fence`](crate::Claim::fence).
    pub fn fenced(mut self) -> Self {
        self.policy.fenced = true;
        self
    }

    /// Hides the parts of the key: it holds a digest of them under the handle's
    /// [`secret`](super::Builder::secret), without which the call is an error of kind `Configuration`.
    pub fn hidden(mut self) -> Self {
        self.policy.hidden = true;
        self
    }

    /// Asks, after a claim and before the body, whether the effect is there already. `Ok(Some(value))`: it is recorded
    /// and returned, the body does not run. `Ok(None)`: it is not. `Err`: the record goes back to what it was.
    pub fn existing<F>(mut self, check: F) -> CallBuilder<Existing<F>, V> {
        self.policy.existing = true;
        let Self { core, key, step, fingerprint, policy, error, verify, .. } = self;
        CallBuilder { core, key, step, fingerprint, policy, error, existing: Existing(check), verify }
    }

    /// Asks, before a completed record is replayed, whether its effect is really there. `Ok(true)`: it is. `Ok(false)`:
    /// the record is replaced by a claim, and the body runs. `Err`: the call returns the error.
    pub fn verify<F>(mut self, check: F) -> CallBuilder<X, Verify<F>> {
        self.policy.verify = true;
        let Self { core, key, step, fingerprint, policy, error, existing, .. } = self;
        CallBuilder { core, key, step, fingerprint, policy, error, existing, verify: Verify(check) }
    }

    /// Runs `body` unless its action is done already; a duplicate gets the recorded value.
    ///
    /// # Errors
    ///
    /// The body's own, unchanged; or an [`Error`], by `From`, when the body was not run or its answer cannot be given.
    pub fn run<F, T, E>(self, body: F) -> impl Future<Output = Result<T, E>> + use<F, T, E, X, V>
    where
        F: Future<Output = Result<T, E>>,
        T: Serialize + DeserializeOwned,
        E: From<Error>,
        X: Question<Result<T, E>>,
        V: Question<Result<T, E>>,
    {
        self.run_with(Replies::recorded(), body)
    }

    /// As [`run`](Self::run), with `replies` saying what is recorded and what duplicates get.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_with<F, T, E>(
        mut self,
        replies: Replies<T, E>,
        body: F,
    ) -> impl Future<Output = Result<T, E>> + use<F, T, E, X, V>
    where
        F: Future<Output = Result<T, E>>,
        X: Question<Result<T, E>>,
        V: Question<Result<T, E>>,
    {
        let Replies { on_duplicate, value, errors } = replies;
        self.policy.on_duplicate = on_duplicate;
        let Self { core, key, step, fingerprint, policy, error, existing, verify } = self;
        let guard = guard(core, (key, step.as_deref()), fingerprint.as_deref(), policy, error);
        let body = Checked { verify: verify.ask(), existing: existing.ask(), body };
        Wired::new(guard, value, errors.into_ops()).run(body)
    }
}

fn guard(
    core: Arc<Core>,
    (key, step): (KeyBuilder, Option<&str>),
    fingerprint: Option<&[u8]>,
    policy: Policy,
    error: Option<Error>,
) -> Result<Box<Guard>, Error> {
    if let Some(error) = error {
        return Err(error);
    }
    let secret = core.secret(policy.hidden)?;
    let prefix = (core.mode == Mode::Shadow).then(|| key.prefix().to_owned());
    let missing = |position| Error::new(ErrorKind::MissingKeyPart).detail(format!("key part {}", position + 1));
    let key = match (key.finish(step, secret).map_err(missing), prefix) {
        (Err(error), Some(prefix)) => return Ok(Box::new(Guard::without_key(core, &prefix, policy, &error))),
        (key, _) => key?,
    };
    let fingerprint = fingerprint.map(Fingerprint::of_bytes);
    let fingerprint = fingerprint.map(|fingerprint| fingerprint.hidden_by(secret));
    Guard::new(core, key, fingerprint, policy).map(Box::new)
}

impl<X, V> fmt::Debug for CallBuilder<X, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallBuilder").field("key", &self.key).field("policy", &self.policy).finish_non_exhaustive()
    }
}
