//! Options that are a path: of a function, of a crate.

use quote::ToTokens as _;
use syn::{Expr, ExprClosure, ExprLit, Ident, Lit, Path};

use crate::errors::Errors;
use crate::options::{Given, mentions};
use crate::signature::bindings;
use crate::text::text;

/// A function by its path, or a closure that captures nothing.
pub(crate) fn function(parameters: &[Ident]) -> impl FnOnce(Given, &mut Errors) -> Option<Given> {
    move |given, errors| {
        let name = &given.name;
        let message = match &given.value {
            Expr::Closure(closure) if captures(closure, parameters) => {
                format!("`{name}` cannot use the call's parameters: it takes a function of the error alone")
            }
            Expr::Path(_) | Expr::Closure(_) => return Some(given),
            Expr::Call(call) => {
                format!("`{name}` takes the function itself, not what it gives; write `{name} = {}`", text(&call.func))
            }
            Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) => {
                format!("`{name}` takes a path, not a string; write `{name} = {}`", path.value())
            }
            _ => format!("`{name}` takes the path of a function"),
        };
        errors.push(&given.value, message);
        None
    }
}

/// Whether the closure uses one of `parameters` that it does not shadow.
fn captures(closure: &ExprClosure, parameters: &[Ident]) -> bool {
    let mut own = Vec::new();
    closure.inputs.iter().for_each(|input| bindings(input, &mut own));
    let others: Vec<Ident> = parameters.iter().filter(|name| !own.contains(name)).cloned().collect();
    mentions(closure.body.to_token_stream(), &others)
}

/// `crate`: the path of the runtime crate.
pub(crate) fn crate_path(Given { value, .. }: Given, errors: &mut Errors) -> Option<Path> {
    match value {
        Expr::Path(syn::ExprPath { qself: None, path, .. }) => Some(path),
        Expr::Lit(ExprLit { lit: Lit::Str(literal), .. }) => {
            let path = literal.value();
            errors.push(literal, format_args!("`crate` is a path, not a string; write `crate = {path}`"));
            None
        }
        other => {
            errors.push(other, "`crate` takes the path of the runtime crate");
            None
        }
    }
}
