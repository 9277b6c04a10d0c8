//! The settings of a layer, each with its default.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use ::http::request::Parts;
use ::http::{HeaderName, HeaderValue, Method, StatusCode};

use super::answer::Problems;
use super::budget::Budget;
use super::fingerprint::FingerprintBy;
use super::identity::{Scope, ScopeOf};
use super::keep::ServerErrors;
use super::key::{Characters, KeyRules, Syntax};
use super::layer::IdempotencyLayer;
use super::problem::Problem;
use super::replayed::Replayed;
use super::settings::{Need, Settings};
use crate::error::Error;
use crate::idempotency::Idempotency;
use crate::key::check_name;
use crate::policy::{OnBusy, OnCrash, OnLost, OnOutage, Policy, Ttl};

/// A builder whose scope was not named yet: it cannot build.
#[derive(Clone, Copy, Debug)]
pub struct NoScope(());

/// A builder whose scope was named.
#[derive(Clone, Debug)]
pub struct Scoped(Scope);

/// The settings of an [`IdempotencyLayer`].
///
/// A scope has to be named: without one, a client could read another's responses by guessing its keys. It does not
/// compile without:
///
/// ```compile_fail,E0599
/// use idempotent_runtime::Idempotency;
/// use idempotent_runtime::http::IdempotencyLayer;
///
/// let layer = IdempotencyLayer::builder(&Idempotency::memory()).required().build();
/// ```
///
/// ```
/// use std::time::Duration;
/// use axum::http::{Method, StatusCode};
/// use idempotent_runtime::Idempotency;
/// use idempotent_runtime::http::{FingerprintBy, IdempotencyLayer, Problem, ServerErrors};
///
/// #[derive(Clone)]
/// struct Tenant(String);
///
/// # fn main() -> Result<(), idempotent_runtime::Error> {
/// let layer = IdempotencyLayer::builder(&Idempotency::memory())
///     .scope(|request| Some(request.extensions.get::<Tenant>()?.0.clone()))
///     .required()
///     .methods([Method::POST, Method::PUT])
///     .ttl(Duration::from_hours(48))
///     .fingerprint(FingerprintBy::json())
///     .server_errors(ServerErrors::Hold)
///     .status(Problem::InFlight, StatusCode::LOCKED)
///     .build()?;
/// # drop(layer);
/// # Ok(()) }
/// ```
#[must_use = "a builder does nothing until it is built"]
#[derive(Clone)]
pub struct LayerBuilder<S> {
    scope: S,
    chosen: Chosen,
}

/// All but the scope.
#[derive(Clone)]
struct Chosen {
    idempotency: Idempotency,
    prefix: String,
    policy: Policy,
    methods: Vec<Method>,
    need: Need,
    header: HeaderName,
    marker: HeaderName,
    keys: KeyRules,
    class: Option<String>,
    fingerprint: FingerprintBy,
    server_errors: ServerErrors,
    replayed: Replayed,
    request_limit: usize,
    response_limit: usize,
    buffers: usize,
    problems: Problems,
}

impl LayerBuilder<NoScope> {
    pub(super) fn new(idempotency: Idempotency) -> Self {
        let chosen = Chosen {
            idempotency,
            prefix: "http".into(),
            policy: Policy::new(Ttl::For(Duration::from_hours(24))),
            methods: vec![Method::POST, Method::PATCH],
            need: Need::Optional,
            header: super::IDEMPOTENCY_KEY,
            marker: super::IDEMPOTENT_REPLAYED,
            keys: KeyRules::default(),
            class: None,
            fingerprint: FingerprintBy::default(),
            server_errors: ServerErrors::default(),
            replayed: Replayed::default(),
            request_limit: 1024 * 1024,
            response_limit: 512 * 1024,
            buffers: 64 * 1024 * 1024,
            problems: Problems::default(),
        };
        Self { scope: NoScope(()), chosen }
    }

    /// Whose request it is: the tenant or principal that authentication has found, from the request's extensions (or
    /// headers). Keys of different scopes never meet. A request without one, `None` or an empty text, is refused.
    pub fn scope(self, scope: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> LayerBuilder<Scoped> {
        let scope: ScopeOf = Arc::new(scope);
        self.scoped(Scope::Of(scope))
    }

    /// All clients share one space of keys: for a service that has one client, or whose keys nobody can guess and nobody
    /// else ever sees.
    pub fn unscoped(self) -> LayerBuilder<Scoped> {
        self.scoped(Scope::Unscoped)
    }

    fn scoped(self, scope: Scope) -> LayerBuilder<Scoped> {
        LayerBuilder { scope: Scoped(scope), chosen: self.chosen }
    }
}

impl<S> LayerBuilder<S> {
    /// A request without a key is refused. By default it passes unguarded.
    pub fn required(mut self) -> Self {
        self.chosen.need = Need::Required;
        self
    }

    /// The methods whose requests are guarded: POST and PATCH by default. The safe ones cannot be.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.chosen.methods = methods.into_iter().collect();
        self
    }

    /// A key must be a Structured Field String, as the draft has it. By default a bare one, as many clients send it, is
    /// taken for the same key.
    pub fn strict(mut self) -> Self {
        self.chosen.keys.syntax = Syntax::Strict;
        self
    }

    /// The shortest and the longest key, in characters: 1 and 255 by default.
    pub fn key_length(mut self, shortest: usize, longest: usize) -> Self {
        (self.chosen.keys.shortest, self.chosen.keys.longest) = (shortest, longest);
        self
    }

    /// The characters that a key may have, as ranges: `A-Za-z0-9_-`. All of printable ASCII by default.
    pub fn key_characters(mut self, class: &str) -> Self {
        self.chosen.class = Some(class.to_owned());
        self
    }

    /// The request header: `Idempotency-Key` by default.
    pub fn header(mut self, name: HeaderName) -> Self {
        self.chosen.header = name;
        self
    }

    /// The header that marks a response as given again, with the value `true`: `Idempotent-Replayed` by default.
    pub fn marker(mut self, name: HeaderName) -> Self {
        self.chosen.marker = name;
        self
    }

    /// The prefix of the records' keys, in spans and metrics: `http` by default. Letters, digits and `_ . : / -`.
    pub fn prefix(mut self, prefix: &str) -> Self {
        prefix.clone_into(&mut self.chosen.prefix);
        self
    }

    /// The record's key shows nothing but a digest under the handle's [`secret`](crate::Builder::secret), not the
    /// method and the route either.
    pub fn hidden(mut self) -> Self {
        self.chosen.policy.hidden = true;
        self
    }

    /// What two requests with one key must have in common: method, path and query, content type and body by
    /// default.
    pub fn fingerprint(mut self, compared: FingerprintBy) -> Self {
        self.chosen.fingerprint = compared;
        self
    }

    /// How long a response is kept, and so for how long retries are recognised: 24 hours by default. Publish it.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.chosen.policy.ttl = Ttl::For(ttl);
        self
    }

    /// How long a claim stands unless renewed, and so how long a crash blocks a key: 30 s by default.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.chosen.policy.lease = lease;
        self
    }

    /// What a retry gets while the first request is being processed. [`OnBusy::Reject`] by default.
    pub fn on_busy(mut self, on_busy: OnBusy) -> Self {
        self.chosen.policy.on_busy = on_busy;
        self
    }

    /// What a run that stopped half way means to a retry: a crash, a panic, a failed service. [`OnCrash::Rerun`] by
    /// default.
    pub fn on_crash(mut self, on_crash: OnCrash) -> Self {
        self.chosen.policy.on_crash = on_crash;
        self
    }

    /// What becomes of a request when the store cannot be asked. [`OnOutage::Reject`] by default.
    pub fn on_outage(mut self, on_outage: OnOutage) -> Self {
        self.chosen.policy.on_outage = on_outage;
        self
    }

    /// What becomes of a running handler whose claim is in doubt. [`OnLost::Cancel`] by default.
    pub fn on_lost(mut self, on_lost: OnLost) -> Self {
        self.chosen.policy.on_lost = on_lost;
        self
    }

    /// How many runs may start without completing, 1 or more. Any number by default.
    pub fn max_attempts(mut self, attempts: NonZeroU32) -> Self {
        self.chosen.policy.max_attempts = Some(attempts);
        self
    }

    /// Bounds one run of the handler, whether its client still waits or not. Unbounded by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.chosen.policy.timeout = Some(timeout);
        self
    }

    /// What becomes of a response with a status of 500 or more. [`ServerErrors::Release`] by default. `Hold` also holds a
    /// key whose run panicked or crashed.
    pub fn server_errors(mut self, server_errors: ServerErrors) -> Self {
        self.chosen.server_errors = server_errors;
        self
    }

    /// Further response headers that are not given again. `Set-Cookie`, `Date`, those of authentication and of one
    /// connection never are.
    pub fn never_replay(mut self, names: impl IntoIterator<Item = HeaderName>) -> Self {
        self.chosen.replayed.never.extend(names);
        self
    }

    /// The only response headers that are given again, less those that never are.
    pub fn replay_only(mut self, names: impl IntoIterator<Item = HeaderName>) -> Self {
        self.chosen.replayed.only = Some(names.into_iter().collect());
        self
    }

    /// The largest request body, in bytes: 1 MiB by default. A larger one is refused before anything is claimed.
    pub fn request_limit(mut self, bytes: usize) -> Self {
        self.chosen.request_limit = bytes;
        self
    }

    /// The largest response body that is stored, in bytes: 512 KiB by default. A larger one, or one of unknown length, is
    /// sent as it comes, and cannot be given again; nor can one for which there is no room in [`buffers`](Self::buffers). The
    /// handle's [`max_result_bytes`](crate::Builder::max_result_bytes)
    /// bounds the whole record.
    pub fn response_limit(mut self, bytes: usize) -> Self {
        self.chosen.response_limit = bytes;
        self
    }

    /// How many bytes of bodies this layer and its services hold in memory at one time: 64 MiB by default. Bodies of requests
    /// leave a quarter of it to responses: a request that finds no room is refused and can come again, while a response that
    /// finds none is sent, but cannot be given again. One body of the largest size that is allowed must have room.
    ///
    /// ```
    /// use idempotent_runtime::Idempotency;
    /// use idempotent_runtime::http::IdempotencyLayer;
    ///
    /// let builder = IdempotencyLayer::builder(&Idempotency::memory()).unscoped().buffers(1000);
    /// assert!(builder.clone().build().is_err(), "a request of 1 MiB would be refused for ever");
    /// assert!(builder.request_limit(750).response_limit(1000).build().is_ok());
    /// ```
    pub fn buffers(mut self, bytes: usize) -> Self {
        self.chosen.buffers = bytes;
        self
    }

    /// Another status for a problem, such as 423 for [`Problem::InFlight`].
    pub fn status(mut self, problem: Problem, status: StatusCode) -> Self {
        self.chosen.problems.statuses.push((problem, status));
        self
    }

    /// The page that describes this service's rules for idempotency keys: the `type` of every problem is this URL with
    /// the problem's name as its fragment, and `Link` leads there. By default the guide of this crate.
    pub fn documentation(mut self, url: &str) -> Self {
        self.chosen.problems.documentation = url.into();
        self
    }
}

impl LayerBuilder<Scoped> {
    /// Builds the layer.
    ///
    /// # Errors
    ///
    /// `Configuration` for a setting that cannot be used.
    pub fn build(self) -> Result<IdempotencyLayer, Error> {
        let Self { scope: Scoped(scope), mut chosen } = self;
        if chosen.server_errors == ServerErrors::Hold {
            chosen.policy.on_crash = OnCrash::Hold;
        }
        if let Some(class) = &chosen.class {
            chosen.keys.characters = Characters::of_class(class)
                .ok_or_else(|| Error::configuration(format!("the key characters {class:?}: write `A-Za-z0-9_-`")))?;
        }
        chosen.check()?;
        Ok(IdempotencyLayer::from_settings(Settings {
            idempotency: chosen.idempotency,
            prefix: chosen.prefix.into(),
            policy: chosen.policy,
            scope,
            methods: chosen.methods,
            need: chosen.need,
            header: chosen.header,
            marker: chosen.marker,
            keys: chosen.keys,
            fingerprint: chosen.fingerprint,
            server_errors: chosen.server_errors,
            replayed: chosen.replayed,
            request_limit: chosen.request_limit,
            response_limit: chosen.response_limit,
            budget: Budget::new(chosen.buffers),
            problems: chosen.problems,
        }))
    }
}

impl Chosen {
    fn check(&self) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::configuration(what));
        check_name(&self.prefix).map_err(|why| Error::configuration(format!("the prefix {:?}: {why}", self.prefix)))?;
        self.idempotency.core().secret(self.policy.hidden)?;
        crate::guard::check(&self.policy)?;
        if let Some(safe) = self.methods.iter().find(|method| method.is_safe()) {
            return wrong(format!("{safe} is a safe method: it has no effect to be guarded"));
        }
        if self.methods.is_empty() {
            return wrong("no method is guarded; leave the layer out, or name some".into());
        }
        if self.keys.shortest == 0 || self.keys.shortest > self.keys.longest {
            return wrong(format!("keys of {} to {} characters", self.keys.shortest, self.keys.longest));
        }
        if let Some(pointer) = self.fingerprint.wrong_pointer() {
            return wrong(format!("the JSON pointer {pointer:?}: write `/{pointer}`"));
        }
        let for_requests = Budget::of_requests(self.buffers);
        if self.request_limit > for_requests {
            let (limit, needed) =
                (self.request_limit, self.request_limit.saturating_add(self.request_limit.div_ceil(3)));
            return wrong(format!(
                "buffers of {} bytes, of which requests may take {for_requests}: a request of {limit}, which `request_limit` \
                 allows, would never have room; write `buffers({needed})` or more, or a lower `request_limit`",
                self.buffers
            ));
        }
        if self.response_limit > self.buffers {
            return wrong(format!(
                "buffers of {} bytes: a response of {}, which `response_limit` allows, would never have room; write more, or \
                 a lower `response_limit`",
                self.buffers, self.response_limit
            ));
        }
        let documentation = &self.problems.documentation;
        let is_link = HeaderValue::from_str(documentation).is_ok() && !documentation.contains(['<', '>', '#', ' ']);
        if documentation.is_empty() || !is_link {
            return wrong(format!("the documentation {documentation:?}: give a URL without a fragment"));
        }
        Ok(())
    }
}

impl<S> fmt::Debug for LayerBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayerBuilder")
            .field("prefix", &self.chosen.prefix)
            .field("policy", &self.chosen.policy)
            .finish_non_exhaustive()
    }
}
