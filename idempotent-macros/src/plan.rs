//! All rules: from what was written to what will be expanded. A plan cannot be wrong, and every mistake in the way to it
//! is reported at once.

use proc_macro2::{Group, Ident, TokenStream};
use quote::ToTokens as _;
use syn::{Expr, LitStr, Path, Signature, Type};

use crate::args::Args;
use crate::errors::Errors;
use crate::handler::{Handler, Item};
use crate::keys::keys;
use crate::options::{self, Given, Options, choice};
use crate::signature::{self, Around};
use crate::time::{Time, time};

/// All that expansion needs to know.
pub(crate) struct Plan {
    pub(crate) function: Function,
    /// What `crate` says; `::idempotent_runtime` where it says nothing.
    pub(crate) runtime: Option<Path>,
    pub(crate) prefix: LitStr,
    pub(crate) keys: Vec<Expr>,
    pub(crate) ttl: Time,
    pub(crate) lease: Option<Time>,
    pub(crate) fingerprint: Vec<Expr>,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) on_outage: OnOutage,
    pub(crate) via: Option<Expr>,
    pub(crate) map_err: Option<Given>,
}

/// The function, taken apart for the wrapping.
pub(crate) struct Function {
    /// All that stands before the body, as written.
    pub(crate) head: TokenStream,
    pub(crate) body: Group,
    /// `#![…]` at the start of the body.
    pub(crate) inner_attributes: TokenStream,
    pub(crate) around: Around,
    /// The code that runs once, without its braces, and the braces' place.
    pub(crate) guarded: TokenStream,
    pub(crate) braces: Group,
    /// The return type: of the function, or of the future that it returns.
    pub(crate) reply: Type,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum OnDuplicate {
    Replay,
    Skip,
    Reject,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum OnOutage {
    Reject,
    Run,
}

const ON_DUPLICATE: &[(&str, OnDuplicate)] =
    &[("replay", OnDuplicate::Replay), ("skip", OnDuplicate::Skip), ("reject", OnDuplicate::Reject)];
const ON_OUTAGE: &[(&str, OnOutage)] = &[("reject", OnOutage::Reject), ("run", OnOutage::Run)];
const ON_BUSY: &[(&str, ())] = &[("reject", ())];
const ON_ERROR: &[(&str, ())] = &[("release", ())];

/// A lease this long is a retry window that went to the wrong option.
const LONGEST_LEASE: std::time::Duration = std::time::Duration::from_hours(24);

impl Plan {
    pub(crate) fn new(args: Args, item: Item) -> syn::Result<Self> {
        let handler = handler(item)?;
        let parameters = signature::parameters(&handler.signature);
        let errors = &mut Errors::default();
        let mut options = Options::new(args, errors);

        let prefix = options.required("prefix", errors, options::prefix);
        let keys = options.required("keys", errors, keys(&parameters));
        let ttl = options.required("ttl", errors, time);
        let lease = options.optional("lease", errors, lease);
        let fingerprint = options.optional("fingerprint", errors, fingerprint(&parameters));
        let on_duplicate = options.optional("on_duplicate", errors, choice(ON_DUPLICATE));
        options.optional("on_busy", errors, choice(ON_BUSY));
        options.optional("on_error", errors, choice(ON_ERROR));
        let on_outage = options.optional("on_outage", errors, choice(ON_OUTAGE));
        let via = options.optional("via", errors, |via, _| Some(via.value));
        let map_err = options.optional("map_err", errors, options::function(&parameters));
        let runtime = options.optional("crate", errors, options::crate_path);
        options.finish(errors);

        let on_duplicate = on_duplicate.unwrap_or(OnDuplicate::Replay);
        let function = function(handler, on_duplicate, errors);

        let plan = (|| {
            Some(Self {
                function: function?,
                runtime,
                prefix: prefix?,
                keys: keys?,
                ttl: ttl?,
                lease,
                fingerprint: fingerprint.unwrap_or_default(),
                on_duplicate,
                on_outage: on_outage.unwrap_or(OnOutage::Reject),
                via,
                map_err,
            })
        })();
        std::mem::take(errors).finish(plan)
    }
}

/// The function, if the attribute stands on one. Where it does not, the options are nobody's concern yet.
fn handler(item: Item) -> syn::Result<Handler> {
    match item {
        Item::Function(handler) => Ok(*handler),
        Item::Declaration(signature) => Err(syn::Error::new(
            signature.ident.span(),
            "there is no body to run once; put `#[idempotent]` on the implementation",
        )),
        Item::Other(keyword) => {
            let message = match keyword.to_string().as_str() {
                word @ ("impl" | "trait") => format!("`#[idempotent]` goes on a function, not on the whole `{word}`"),
                _ => "`#[idempotent]` goes on a function".to_owned(),
            };
            Err(syn::Error::new(keyword.span(), message))
        }
        Item::Unreadable(error) => Err(error),
    }
}

fn function(handler: Handler, on_duplicate: OnDuplicate, errors: &mut Errors) -> Option<Function> {
    let Handler { head, signature, body } = handler;
    let reply = reply(&signature, on_duplicate, errors)?;
    let (inner_attributes, rest) = signature::inner_attributes(body.stream());
    let (around, guarded, braces) = if signature.asyncness.is_some() {
        (Around::Nothing, rest, body.clone())
    } else if let Some((around, block)) = signature::block(rest.clone()) {
        (around, block.stream(), block)
    } else {
        let message = "a function that returns a future must be exactly one `async move { … }` or `Box::pin(async move { … })`; move the rest into it, or write an `async fn`";
        match rest.into_iter().next() {
            Some(first) => errors.push(first, message),
            None => errors.push(signature.ident, message),
        }
        return None;
    };
    Some(Function { head, body, inner_attributes, around, guarded, braces, reply })
}

/// The return type, with the checks that need no compiler.
fn reply(signature: &Signature, on_duplicate: OnDuplicate, errors: &mut Errors) -> Option<Type> {
    let Some(reply) = signature::reply(signature) else {
        if signature.asyncness.is_some() {
            errors.push(
                &signature.ident,
                "an idempotent function must return a `Result`: an error is how a duplicate learns that it is one; write `-> Result<(), YourError>`",
            );
        } else {
            errors.push(
                signature.fn_token,
                "`#[idempotent]` needs an `async fn`, or a function that returns `impl Future<Output = Result<T, E>>`",
            );
        }
        return None;
    };
    if let Some(hidden) = signature::find(&reply, &|ty| matches!(ty, Type::ImplTrait(_))) {
        errors.push(hidden, "an `impl Trait` has no type that a duplicate's value could be read as; name the type");
        return None;
    }
    let recorded = signature::spelled_sides(&reply).filter(|_| on_duplicate == OnDuplicate::Replay);
    let reference = recorded.and_then(|(value, _)| signature::find(value, &|ty| matches!(ty, Type::Reference(_))));
    if let Some(reference) = reference {
        errors.push(reference, "a reference cannot be recorded; return an owned value");
        return None;
    }
    Some(reply)
}

fn lease(given: Given, errors: &mut Errors) -> Option<Time> {
    let written = given.value.clone();
    let lease = time(given, errors)?;
    if matches!(lease, Time::Fixed(lease) if lease > LONGEST_LEASE) {
        errors.push(
            written,
            "`lease` is how long a crashed run keeps its key, a day at most; how long duplicates are recognised is `ttl`",
        );
        return None;
    }
    Some(lease)
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
