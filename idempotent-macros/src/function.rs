//! The rules for the function: what the attribute can stand on, and what that must return.

use proc_macro2::{Group, Ident, Span, TokenStream};
use syn::{Signature, Type};

use crate::choice::OnDuplicate;
use crate::errors::Errors;
use crate::handler::{Handler, Item};
use crate::options;
use crate::signature::{self, Around};

/// The function, taken apart for the wrapping.
pub(crate) struct Function {
    pub(crate) name: Ident,
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

/// The function, if the attribute stands on one. Where it does not, the options are nobody's concern yet.
pub(crate) fn handler(item: Item) -> syn::Result<Handler> {
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

pub(crate) fn function(handler: Handler, on_duplicate: OnDuplicate, errors: &mut Errors) -> Option<Function> {
    let Handler { head, signature, body } = handler;
    let Some(reply) = signature::reply(&signature) else {
        gives_no_future(&signature, &body, errors);
        return None;
    };
    if !can_be_a_reply(&reply, on_duplicate, errors) {
        return None;
    }
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
    Some(Function { name: signature.ident, head, body, inner_attributes, around, guarded, braces, reply })
}

/// Says why a function is not asynchronous, or returns nothing.
fn gives_no_future(signature: &Signature, body: &Group, errors: &mut Errors) {
    if signature.asyncness.is_some() {
        errors.push(
            &signature.ident,
            "an idempotent function must return a `Result`: an error is how a duplicate learns that it is one; write `-> Result<(), YourError>`",
        );
    } else if options::mentions(body.stream(), &[Ident::new("block_on", Span::call_site())]) {
        errors.push(
            signature.fn_token,
            "`#[idempotent]` needs an `async fn`; where an attribute above makes one synchronous, as `#[tokio::main]` does, put `#[idempotent]` above that",
        );
    } else {
        errors.push(
            signature.fn_token,
            "`#[idempotent]` needs an `async fn`, or a function that returns `impl Future<Output = Result<T, E>>`",
        );
    }
}

/// The checks of the return type that need no compiler.
fn can_be_a_reply(reply: &Type, on_duplicate: OnDuplicate, errors: &mut Errors) -> bool {
    if let Some(hidden) = signature::find(reply, &|ty| matches!(ty, Type::ImplTrait(_))) {
        errors.push(hidden, "an `impl Trait` has no type that a duplicate's value could be read as; name the type");
        return false;
    }
    let recorded = signature::spelled_sides(reply).filter(|_| on_duplicate == OnDuplicate::Replay);
    let reference = recorded.and_then(|(value, _)| signature::find(value, &|ty| matches!(ty, Type::Reference(_))));
    if let Some(reference) = reference {
        errors.push(reference, "a reference cannot be recorded; return an owned value");
        return false;
    }
    true
}
