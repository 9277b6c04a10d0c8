//! `within`: the parameter that is the caller's transaction.

use syn::{Expr, FnArg, Ident, Pat, PatIdent, Signature, Type};

use crate::errors::Errors;
use crate::options::Given;
use crate::suggest;
use crate::text::text;

/// What has no meaning where a claim lives and dies with a transaction.
pub(crate) const EXCLUDED: &[&str] = &["lease", "on_crash", "on_outage", "on_lost", "max_attempts"];

/// Why each of these is refused beside `within`.
pub(crate) fn excluded(option: &str) -> String {
    format!("`{option}` has no meaning with `within`: the claim lives and dies with the transaction; leave one out")
}

/// The name of a `&mut` parameter.
pub(crate) fn within(signature: &Signature) -> impl FnOnce(Given, &mut Errors) -> Option<Ident> {
    let parameters: Vec<(PatIdent, Type)> = signature.inputs.iter().filter_map(named).collect();
    move |Given { value, .. }, errors| {
        let name = match &value {
            Expr::Path(path) => path.path.get_ident().filter(|name| *name != "self").cloned(),
            Expr::Reference(reference) => {
                let name = text(&reference.expr);
                errors.push(&value, format_args!("`within` takes the parameter's name alone; write `within = {name}`"));
                return None;
            }
            _ => None,
        };
        let Some(name) = name else {
            errors.push(value, "`within` takes the name of a parameter; write `within = tx` for a `tx: &mut Transaction<'_, Postgres>`");
            return None;
        };
        let Some((pattern, ty)) = parameters.iter().find(|(pattern, _)| pattern.ident == name) else {
            let written = name.to_string();
            let names: Vec<String> = parameters.iter().map(|(pattern, _)| pattern.ident.to_string()).collect();
            let message = match suggest::nearest(&written, names.iter().map(String::as_str)) {
                Some(nearest) => format!("no parameter is named `{written}`; did you mean `{nearest}`?"),
                None => format!("no parameter is named `{written}`; the transaction is a parameter, taken as `&mut`"),
            };
            errors.push(name, message);
            return None;
        };
        match ty {
            Type::Reference(reference) if reference.mutability.is_some() => {}
            _ => {
                let message = "a transaction is taken as `&mut`: its caller begins it, and commits it after the call";
                errors.push(ty, message);
                return None;
            }
        }
        if let Some(mutability) = &pattern.mutability {
            errors.push(mutability, "a `&mut` need not be `mut` itself; remove this one");
            return None;
        }
        Some(name)
    }
}

/// A parameter that is a plain name, and its type.
fn named(input: &FnArg) -> Option<(PatIdent, Type)> {
    let FnArg::Typed(typed) = input else { return None };
    match &*typed.pat {
        Pat::Ident(pattern) if pattern.subpat.is_none() => Some((pattern.clone(), (*typed.ty).clone())),
        _ => None,
    }
}
