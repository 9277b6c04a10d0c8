//! All rules: from what was written to what will be expanded. A plan cannot be wrong, and every mistake in the way to it
//! is reported at once.

use std::num::NonZero;

use proc_macro2::Ident;
use quote::ToTokens as _;
use syn::{Expr, LitStr, Path};

use crate::args::Args;
use crate::choice::{self, OnBusy, OnCrash, OnDuplicate, OnError, OnLost, OnOutage, choice};
use crate::errors::Errors;
use crate::function::{self, Function};
use crate::handler::Item;
use crate::keys::keys;
use crate::number;
use crate::options::{self, Given, Options};
use crate::paths;
use crate::question::question;
use crate::signature;
use crate::time::{self, Time, Ttl};
use crate::within;

/// All that expansion needs to know.
pub(crate) struct Plan {
    pub(crate) function: Function,
    /// What `crate` says; `::idempotent_runtime` where it says nothing.
    pub(crate) runtime: Option<Path>,
    pub(crate) prefix: LitStr,
    pub(crate) keys: Vec<Expr>,
    pub(crate) step: Option<LitStr>,
    pub(crate) ttl: Ttl,
    /// `ttl` as a person would write it.
    pub(crate) ttl_text: String,
    pub(crate) lease: Option<Time>,
    pub(crate) timeout: Option<Time>,
    pub(crate) fingerprint: Vec<Expr>,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) on_busy: OnBusy,
    pub(crate) on_error: OnError,
    pub(crate) on_crash: OnCrash,
    pub(crate) on_outage: OnOutage,
    pub(crate) on_lost: OnLost,
    pub(crate) max_attempts: Option<NonZero<u32>>,
    pub(crate) within: Option<Ident>,
    pub(crate) fenced: bool,
    pub(crate) hidden: bool,
    pub(crate) verify: Option<Given>,
    pub(crate) existing: Option<Given>,
    pub(crate) via: Option<Expr>,
    pub(crate) map_err: Option<Given>,
}

const RUN_AND_HOLD: &str = "`on_crash = hold` is there so that nothing runs twice, `on_outage = run` runs unguarded; leave one out, or say with `existing` how to find out what an earlier run did";
const RUN_AND_STRICT: &str = "`on_lost = strict` ends a run because the store is away, `on_outage = run` starts one although it is; leave one out";

impl Plan {
    pub(crate) fn new(args: Args, item: Item) -> syn::Result<Self> {
        let handler = function::handler(item)?;
        let parameters = signature::parameters(&handler.signature);
        let errors = &mut Errors::default();
        let mut options = Options::new(args, errors);

        let prefix = options.required("prefix", errors, options::name);
        let keys = options.required("keys", errors, keys(&parameters));
        let step = options.optional("step", errors, options::name);
        let ttl = options.required("ttl", errors, |given, errors| {
            let text = time::written(&given.value);
            Some((time::ttl(&parameters)(given, errors)?, text))
        });
        let lease = options.optional("lease", errors, time::time(time::LEASE));
        let timeout = options.optional("timeout", errors, time::time(time::TIMEOUT));
        let fingerprint = options.optional("fingerprint", errors, fingerprint(&parameters));
        let on_duplicate = options.optional("on_duplicate", errors, choice).unwrap_or_default();
        let on_busy = options.optional("on_busy", errors, choice::on_busy).unwrap_or_default();
        let on_error = options.optional("on_error", errors, choice::on_error(&parameters)).unwrap_or_default();
        let on_crash = options.optional("on_crash", errors, choice).unwrap_or_default();
        let on_outage = options.optional("on_outage", errors, choice).unwrap_or_default();
        let on_lost = options.optional("on_lost", errors, choice).unwrap_or_default();
        let max_attempts = options.optional("max_attempts", errors, number::count);
        let within = options.optional("within", errors, within::within(&handler.signature));
        let fenced = options.flag("fenced", errors);
        let hidden = options.flag("hidden", errors);
        let verify = options.optional("verify", errors, question);
        let existing = options.optional("existing", errors, question);
        let via = options.optional("via", errors, |via, _| Some(via.value));
        let map_err = options.optional("map_err", errors, paths::function(&parameters));
        let runtime = options.optional("crate", errors, paths::crate_path);

        if on_outage == OnOutage::Run && on_crash == OnCrash::Hold && existing.is_none() {
            options.contradict(["on_outage", "on_crash"], RUN_AND_HOLD, errors);
        }
        if on_outage == OnOutage::Run && on_lost == OnLost::Strict {
            options.contradict(["on_outage", "on_lost"], RUN_AND_STRICT, errors);
        }
        if options.has("within") {
            for &option in within::EXCLUDED.iter().filter(|option| options.has(option)) {
                options.contradict(["within", option], &within::excluded(option), errors);
            }
        }
        options.finish(errors);

        let function = function::function(handler, on_duplicate, errors);

        let plan = (|| {
            let (ttl, ttl_text) = ttl?;
            Some(Self {
                function: function?,
                runtime,
                prefix: prefix?,
                keys: keys?,
                step,
                ttl,
                ttl_text,
                lease,
                timeout,
                fingerprint: fingerprint.unwrap_or_default(),
                on_duplicate,
                on_busy,
                on_error,
                on_crash,
                on_outage,
                on_lost,
                max_attempts,
                within,
                fenced,
                hidden,
                verify,
                existing,
                via,
                map_err,
            })
        })();
        std::mem::take(errors).finish(plan)
    }
}

/// `fingerprint`: one expression or a list.
fn fingerprint(parameters: &[Ident]) -> impl FnOnce(Given, &mut Errors) -> Option<Vec<Expr>> {
    move |Given { value, .. }, errors| {
        let parts: Vec<Expr> = match value {
            Expr::Array(list) if list.elems.is_empty() => {
                errors.push(
                    list,
                    "`fingerprint` is empty; list what must not differ between two calls with one key, or leave it out",
                );
                return None;
            }
            Expr::Array(list) => list.elems.into_iter().map(options::peeled).collect(),
            single => vec![single],
        };
        for part in &parts {
            let tokens = part.to_token_stream();
            if !matches!(part, Expr::Macro(_)) && !options::mentions(tokens.clone(), parameters) {
                errors.push(tokens, "this uses no parameter, so it never differs between two calls");
            }
        }
        Some(parts)
    }
}
