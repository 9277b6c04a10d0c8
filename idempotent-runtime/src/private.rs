//! What expanded code calls. Not for people: it changes with the attribute, which is pinned to this very version.

use std::time::Duration;

use crate::error::{Error, ErrorKind};
use crate::fingerprint::Fingerprint;
pub use crate::fingerprint::Fingerprinted;
use crate::guard::Guard;
pub use crate::guard::checks::{Ask, Existing, Verify};
use crate::idempotency::Idempotency;
pub use crate::idempotency::{Ambient, Via};
pub use crate::key::KeyPart;
use crate::key::{self, Key};
use crate::policy::Policy;
pub use crate::policy::{Handler, OnBusy, OnCrash, OnDuplicate, OnLost, OnOutage, Ttl};
pub use crate::reply::{
    CarriesError, Errors, Reply, Skippable, Stored, StoredError, ValueOps, judge, map_err, never, recorded, skipped,
    unrecorded, value,
};
use crate::run;

/// An annotated call whose key is built, before its body is known.
pub struct Call<R> {
    prepared: Result<Prepared, Error>,
    policy: Policy,
    value: ValueOps<R>,
    errors: Errors<R>,
}

struct Prepared {
    via: Idempotency,
    key: Key,
    fingerprint: Option<Fingerprint>,
}

/// Builds the key of a call, before its arguments are moved into the body.
pub fn call<R>(
    handler: &'static Handler,
    via: &dyn Via,
    keys: &[&dyn KeyPart],
    value: ValueOps<R>,
    errors: Errors<R>,
) -> Call<R> {
    Call { prepared: prepare(handler, via, keys), policy: handler.policy, value, errors }
}

fn prepare(handler: &'static Handler, via: &dyn Via, keys: &[&dyn KeyPart]) -> Result<Prepared, Error> {
    let via = via.idempotency()?;
    let secret = via.core().secret(handler.policy.hidden)?;
    let namespace = via.core().namespace.as_deref();
    let key = key::encode(namespace, handler.prefix, keys, handler.step, secret).map_err(|position| {
        let part = handler.keys.get(position).copied().unwrap_or("?");
        Error::new(ErrorKind::MissingKeyPart).detail(format!("`{part}` in the key of `{}`", handler.prefix))
    })?;
    Ok(Prepared { via, key, fingerprint: None })
}

impl<R> Call<R> {
    /// `fingerprint = [..]`.
    #[must_use]
    pub fn fingerprint(mut self, arguments: &[&dyn Fingerprinted]) -> Self {
        let hidden = self.policy.hidden;
        self.prepared = self.prepared.and_then(|mut prepared| match Fingerprint::of(arguments) {
            Ok(fingerprint) => {
                let secret = prepared.via.core().secret(hidden)?;
                prepared.fingerprint = Some(fingerprint.hidden_by(secret));
                Ok(prepared)
            }
            Err(why) => Err(Error::new(ErrorKind::Fingerprint).key(prepared.key.as_str()).because(why)),
        });
        self
    }

    /// `ttl = expression`.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.policy.ttl = Ttl::For(ttl);
        self
    }

    /// `lease = expression`.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.policy.lease = lease;
        self
    }

    /// `timeout = expression`.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.policy.timeout = Some(timeout);
        self
    }

    /// `on_busy = wait(expression)`.
    #[must_use]
    pub fn wait(mut self, patience: Duration) -> Self {
        self.policy.on_busy = OnBusy::Wait(patience);
        self
    }

    /// Runs the body under the guard.
    pub fn run<F: Future<Output = R>>(self, body: F) -> run::Run<R, F> {
        let guard = match self.prepared {
            Ok(Prepared { via, key, fingerprint }) => {
                Guard::new(std::sync::Arc::clone(via.core()), key, fingerprint, self.policy)
            }
            Err(error) => Err(error),
        };
        run::Call::new(guard, self.value, self.errors.into_ops()).run(body)
    }
}
