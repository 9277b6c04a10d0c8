//! `existing` and `verify`: asynchronous expressions that the expanded code awaits, and whose answer it understands.
//!
//! Of what type the answer is rustc checks, on the user's own tokens.

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprAwait, ExprTry, Token};

use crate::errors::Errors;
use crate::options::Given;
use crate::text::text;

/// An expression that gives a future, as it was written.
pub(crate) fn question(given: Given, errors: &mut Errors) -> Option<Given> {
    let Given { name, value } = &given;
    let message = match value {
        Expr::Await(_) | Expr::Try(_) => {
            let (awaited, tried, bare) = unwrapped(value);
            let done = match (awaited, tried) {
                (true, true) => "awaits it and returns its error",
                (true, false) => "awaits it",
                _ => "returns its error",
            };
            format!("`#[idempotent]` {done}; write `{name} = {}`", text(bare))
        }
        Expr::Closure(closure) => {
            format!("`{name}` is the expression itself, not a closure; write `{name} = {}`", text(&closure.body))
        }
        Expr::Call(_) | Expr::MethodCall(_) | Expr::Path(_) | Expr::Field(_) | Expr::Async(_) | Expr::Macro(_) => {
            let Some(inner) = leaves(value) else { return Some(given) };
            let message = format!("`{name}` cannot wait or fail on the way; do this inside the function that it calls");
            errors.push(inner, message);
            return None;
        }
        _ => {
            format!(
                "`{name}` is an asynchronous call; compute it in a function and write `{name} = my_function(&parameter)`"
            )
        }
    };
    errors.push(value, message);
    None
}

/// The expression without `.await` and `?` behind it, and which of the two were there.
fn unwrapped(mut value: &Expr) -> (bool, bool, &Expr) {
    let (mut awaited, mut tried) = (false, false);
    loop {
        match value {
            Expr::Await(ExprAwait { base, .. }) => (awaited, value) = (true, base),
            Expr::Try(ExprTry { expr, .. }) => (tried, value) = (true, expr),
            bare => return (awaited, tried, bare),
        }
    }
}

/// An `.await` or a `?` on the way to the future: it would act before the question is asked, in the handler's name.
fn leaves(value: &Expr) -> Option<TokenStream> {
    let any = |list: &Punctuated<Expr, Token![,]>| list.iter().find_map(leaves);
    match value {
        Expr::Await(_) | Expr::Try(_) => Some(value.to_token_stream()),
        Expr::Call(call) => leaves(&call.func).or_else(|| any(&call.args)),
        Expr::MethodCall(call) => leaves(&call.receiver).or_else(|| any(&call.args)),
        Expr::Field(field) => leaves(&field.base),
        Expr::Group(group) => leaves(&group.expr),
        Expr::Index(index) => leaves(&index.expr).or_else(|| leaves(&index.index)),
        Expr::Paren(paren) => leaves(&paren.expr),
        Expr::Reference(reference) => leaves(&reference.expr),
        Expr::Unary(unary) => leaves(&unary.expr),
        _ => None,
    }
}
