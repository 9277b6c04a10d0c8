//! What expanded code calls. Not for people: it changes with the attribute, which is pinned to this very version.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, ErrorKind};
use crate::fingerprint::Fingerprint;
pub use crate::fingerprint::Fingerprinted;
use crate::guard::Guard;
#[cfg(feature = "registry")]
pub use inventory::submit;

pub use crate::__register as register;
pub use crate::guard::checks::{Ask, Existing, Verify};
pub use crate::idempotency::{Ambient, Via};
use crate::idempotency::{Idempotency, Mode};
pub use crate::key::KeyPart;
use crate::key::{self, Key};
use crate::policy::Policy;
pub use crate::policy::{Handler, OnBusy, OnCrash, OnDuplicate, OnLost, OnOutage, Ttl};
#[cfg(feature = "registry")]
pub use crate::registry::Handler as Registered;
pub use crate::reply::{
    CarriesError, Errors, Reply, Skippable, Stored, StoredError, ValueOps, judge, map_err, never, recorded, skipped,
    unrecorded, value,
};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use crate::run::within::{Scope, Transacted, Within, transaction};
use crate::run::{Run, Wired};

/// An annotated call whose key is built, before its body is known.
pub struct Call<R> {
    prepared: Prepared,
    value: ValueOps<R>,
    errors: Errors<R>,
}

/// A call without the types of its handler: all that can be done with it is compiled once.
struct Prepared {
    prefix: &'static str,
    target: Result<Target, Error>,
    policy: Policy,
}

/// What a call is guarded by, and under which key.
struct Target {
    via: Idempotency,
    /// The key; in shadow, why there is none.
    key: Result<Key, NoKey>,
    fingerprint: Option<Fingerprint>,
}

/// Why a call has no key, and runs all the same.
struct NoKey {
    prefix: &'static str,
    why: Error,
}

/// Builds the key of a call under the ambient handle, before its arguments are moved into the body.
pub fn call<R>(handler: &Handler, keys: &[&dyn KeyPart], value: ValueOps<R>, errors: Errors<R>) -> Call<R> {
    Call { prepared: Prepared::new(handler, &Ambient, keys), value, errors }
}

/// As [`call`], under the handle that `via` gives.
pub fn call_via<R>(
    handler: &Handler,
    via: &dyn Via,
    keys: &[&dyn KeyPart],
    value: ValueOps<R>,
    errors: Errors<R>,
) -> Call<R> {
    Call { prepared: Prepared::new(handler, via, keys), value, errors }
}

fn target(handler: &Handler, via: &dyn Via, keys: &[&dyn KeyPart]) -> Result<Target, Error> {
    let via = via.idempotency()?;
    let secret = via.core().secret(handler.policy.hidden)?;
    let namespace = via.core().namespace.as_deref();
    let key = key::encode(namespace, handler.prefix, keys, handler.step, secret).map_err(|position| {
        let part = handler.keys.get(position).copied().unwrap_or("?");
        Error::new(ErrorKind::MissingKeyPart).detail(format!("`{part}` in the key of `{}`", handler.prefix))
    });
    let key = match key {
        Err(why) if via.core().mode == Mode::Shadow => Err(NoKey { prefix: handler.prefix, why }),
        key => Ok(key?),
    };
    Ok(Target { via, key, fingerprint: None })
}

impl<R> Call<R> {
    /// `fingerprint = [..]`.
    #[must_use]
    pub fn fingerprint(mut self, arguments: &[&dyn Fingerprinted]) -> Self {
        self.prepared.fingerprint(arguments);
        self
    }

    /// `ttl = expression`.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.prepared.policy.ttl = Ttl::For(ttl);
        self
    }

    /// `lease = expression`.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.prepared.policy.lease = lease;
        self
    }

    /// `timeout = expression`.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.prepared.policy.timeout = Some(timeout);
        self
    }

    /// `on_busy = wait(expression)`.
    #[must_use]
    pub fn wait(mut self, patience: Duration) -> Self {
        self.prepared.policy.on_busy = OnBusy::Wait(patience);
        self
    }

    /// `within = transaction`: claims the key there.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub async fn within<T: ?Sized>(self, transaction: Transacted<'_, T>) -> Within<'_, T, R> {
        Within::claim(self.prepared.guard(), self.value, self.errors.into_ops(), transaction).await
    }

    /// Runs the body under the guard.
    pub fn run<F: Future<Output = R>>(self, body: F) -> Run<R, F> {
        Wired::new(self.prepared.guard(), self.value, self.errors.into_ops()).run(body)
    }
}

impl Prepared {
    fn new(handler: &Handler, via: &dyn Via, keys: &[&dyn KeyPart]) -> Self {
        Self { prefix: handler.prefix, target: target(handler, via, keys), policy: handler.policy }
    }

    fn fingerprint(&mut self, arguments: &[&dyn Fingerprinted]) {
        let Ok(target) = &mut self.target else { return };
        let fingerprint = match Fingerprint::of(arguments) {
            Ok(fingerprint) => target.via.core().secret(self.policy.hidden).map(|secret| fingerprint.hidden_by(secret)),
            Err(why) => {
                let Ok(key) = &target.key else { return };
                let error = Error::new(ErrorKind::Fingerprint).key(key.as_str()).because(why);
                if target.via.core().mode == Mode::Shadow {
                    target.key = Err(NoKey { prefix: self.prefix, why: error });
                    return;
                }
                Err(error)
            }
        };
        match fingerprint {
            Ok(fingerprint) => target.fingerprint = Some(fingerprint),
            Err(error) => self.target = Err(error),
        }
    }

    fn guard(self) -> Result<Box<Guard>, Error> {
        let Target { via, key, fingerprint } = self.target?;
        let core = Arc::clone(via.core());
        match key {
            Ok(key) => Guard::new(core, key, fingerprint, self.policy).map(Box::new),
            Err(NoKey { prefix, why }) => Ok(Box::new(Guard::without_key(core, prefix, self.policy, &why))),
        }
    }
}
