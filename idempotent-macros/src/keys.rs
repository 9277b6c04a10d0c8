//! The key expressions: each must be a plain way to a value of a parameter, so that a reader sees what identifies the
//! business action, and so that no two calls can share a key by accident.
//!
//! What a key's field or method gives is rustc's to check, on the user's own tokens.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Expr, ExprLit, ExprPath, Lit, UnOp};

use crate::errors::Errors;
use crate::options::{Given, mentions, peeled};
use crate::suggest;
use crate::text::text;

const COMPUTE_IT: &str =
    "a key part is a parameter, a field or a call; compute it in a function and write `my_function(&parameter)`";

/// `keys`: the parts, or the reasons why some are none.
pub(crate) fn keys(parameters: &[Ident]) -> impl FnOnce(Given, &mut Errors) -> Option<Vec<Expr>> {
    move |Given { value, .. }, errors| {
        let list = match value {
            Expr::Array(list) => list,
            other => {
                let written = text(&other);
                errors.push(other, format_args!("`keys` is a list; write `keys = [{written}]`"));
                return None;
            }
        };
        if list.elems.is_empty() {
            errors.push(list, "`keys` is empty; list the parameters or fields that identify the business action");
            return None;
        }
        let mut parts: Vec<Expr> = Vec::new();
        let mut complete = true;
        for part in list.elems.into_iter().map(peeled) {
            let checked = check(&part, parameters).and_then(|()| unique(&part, &parts));
            if let Err(error) = checked {
                errors.add(error);
                complete = false;
            }
            parts.push(part);
        }
        complete.then_some(parts)
    }
}

fn unique(part: &Expr, earlier: &[Expr]) -> syn::Result<()> {
    let written = text(part);
    if earlier.iter().any(|earlier| text(earlier) == written) {
        return refuse(part, format_args!("`{written}` is listed twice"));
    }
    Ok(())
}

fn check(part: &Expr, parameters: &[Ident]) -> syn::Result<()> {
    if way(part, parameters)? {
        return Ok(());
    }
    refuse(part, format_args!("`{}` uses no parameter, so it says nothing about the call", text(part)))
}

/// Follows the way to a value; says whether it starts at a parameter.
fn way(part: &Expr, parameters: &[Ident]) -> syn::Result<bool> {
    match part {
        Expr::Path(path) => root(path, parameters),
        Expr::Field(field) => way(&field.base, parameters),
        Expr::Index(index) => Ok(way(&index.expr, parameters)? | argument(&index.index, parameters)?),
        Expr::Group(group) => way(&group.expr, parameters),
        Expr::Paren(paren) => way(&paren.expr, parameters),
        Expr::Reference(reference) if reference.mutability.is_none() => way(&reference.expr, parameters),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => way(&unary.expr, parameters),
        Expr::MethodCall(call) => Ok(way(&call.receiver, parameters)? | arguments(&call.args, parameters)?),
        Expr::Call(call) if matches!(*call.func, Expr::Path(_)) => arguments(&call.args, parameters),
        other => refuse(other, instead(other, parameters)),
    }
}

fn arguments<'a>(list: impl IntoIterator<Item = &'a Expr>, parameters: &[Ident]) -> syn::Result<bool> {
    list.into_iter().try_fold(false, |used, next| Ok(argument(next, parameters)? | used))
}

/// An argument of a call: freer than the part itself, as long as it can be seen through.
fn argument(expr: &Expr, parameters: &[Ident]) -> syn::Result<bool> {
    if let Some(hidden) = opaque(expr.to_token_stream()) {
        return refuse(hidden.0, hidden.1);
    }
    match start(expr) {
        Some(name) if !parameters.contains(name) && near(name, parameters).is_some() => unknown(name, parameters),
        _ => Ok(mentions(expr.to_token_stream(), parameters)),
    }
}

/// The name at which a way starts.
fn start(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Path(path) if !is_constant(path) => path.path.get_ident(),
        Expr::Field(field) => start(&field.base),
        Expr::MethodCall(call) => start(&call.receiver),
        Expr::Reference(reference) => start(&reference.expr),
        Expr::Paren(paren) => start(&paren.expr),
        Expr::Group(group) => start(&group.expr),
        _ => None,
    }
}

/// What cannot stand anywhere in a key: macros, which hide what they use, and waiting.
fn opaque(tokens: TokenStream) -> Option<(TokenStream, &'static str)> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match (token, tokens.get(at + 1), tokens.get(at + 2)) {
            (TokenTree::Ident(_), Some(TokenTree::Punct(bang)), Some(TokenTree::Group(_))) if bang.as_char() == '!' => {
                let found = tokens[at..at + 3].iter().cloned().collect();
                return Some((found, "a macro hides which parameters a key uses; write a function call instead"));
            }
            (TokenTree::Punct(dot), Some(TokenTree::Ident(word)), _) if dot.as_char() == '.' && word == "await" => {
                return Some((word.to_token_stream(), AWAIT));
            }
            (TokenTree::Group(group), ..) => {
                let found = opaque(group.stream());
                if found.is_some() {
                    return found;
                }
            }
            _ => {}
        }
    }
    None
}

const AWAIT: &str = "a key is computed before anything runs and cannot wait; make the value a parameter";

fn root(path: &ExprPath, parameters: &[Ident]) -> syn::Result<bool> {
    let Some(name) = path.path.get_ident().filter(|_| path.qself.is_none() && !is_constant(path)) else {
        return Ok(false);
    };
    if parameters.contains(name) {
        return Ok(true);
    }
    unknown(name, parameters)
}

fn near(name: &Ident, parameters: &[Ident]) -> Option<String> {
    let names: Vec<String> = parameters.iter().map(ToString::to_string).collect();
    suggest::nearest(&name.to_string(), names.iter().map(String::as_str)).map(str::to_owned)
}

fn unknown<T>(name: &Ident, parameters: &[Ident]) -> syn::Result<T> {
    let names: Vec<String> = parameters.iter().map(ToString::to_string).collect();
    let names = suggest::list(names.iter().map(String::as_str), "and");
    let hint = match (near(name, parameters), parameters) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => "the function has none".to_owned(),
        (None, [_]) => format!("there is {names}"),
        (None, _) => format!("there are {names}"),
    };
    refuse(name, format_args!("no parameter is named `{name}`; {hint}"))
}

/// A path that cannot be a parameter: of several segments, or spelled as constants are.
fn is_constant(path: &ExprPath) -> bool {
    path.path.get_ident().is_none_or(|name| {
        let name = name.to_string();
        name.chars().any(|char| char.is_ascii_uppercase()) && !name.chars().any(|char| char.is_ascii_lowercase())
    })
}

/// What to write instead of an expression that is no way to a value.
fn instead(part: &Expr, parameters: &[Ident]) -> String {
    match part {
        Expr::Lit(literal) => literal_instead(literal, parameters),
        Expr::Tuple(list) => format!("list the parts one by one: `{}`", listed(&list.elems)),
        Expr::Array(list) => format!("list the parts one by one: `{}`", listed(&list.elems)),
        Expr::Macro(mac) if mac.mac.path.is_ident("format") || mac.mac.path.is_ident("concat") => {
            "list the parts instead of joining them: `keys = [a, b]` cannot be mistaken for other parts".to_owned()
        }
        Expr::Macro(_) => "a macro hides which parameters a key uses; write a function call instead".to_owned(),
        Expr::Reference(reference) => {
            format!("a key only reads; write `{}`", text(&reference.expr))
        }
        Expr::Cast(cast) => {
            format!("a key part is text, so its integer type does not matter; write `{}`", text(&cast.expr))
        }
        Expr::Try(_) => {
            "`?` cannot stand in a key; give an `Option`: a part that is missing is an error of its own".to_owned()
        }
        Expr::Await(_) => AWAIT.to_owned(),
        Expr::Binary(_) => {
            "an operator cannot stand in a key; list both sides, or write `my_function(&parameter)`".to_owned()
        }
        Expr::Unary(_) => "an operator cannot stand in a key; write `my_function(&parameter)`".to_owned(),
        Expr::Closure(_) => "a closure is not called here; write what it gives".to_owned(),
        Expr::Assign(assign) => format!("key parts have no names; write `{}`", text(&assign.right)),
        _ => COMPUTE_IT.to_owned(),
    }
}

fn listed<'a>(elements: impl IntoIterator<Item = &'a Expr>) -> String {
    elements.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

fn literal_instead(literal: &ExprLit, parameters: &[Ident]) -> String {
    let meant = match &literal.lit {
        Lit::Str(string) => string.parse::<Expr>().ok().filter(|expr| check(expr, parameters).is_ok()),
        _ => None,
    };
    match meant {
        Some(meant) => format!("a literal is the same for every call; write `{}` without quotes", text(meant)),
        None => "a literal is the same for every call; constant text belongs into `prefix`".to_owned(),
    }
}

fn refuse<T>(tokens: impl quote::ToTokens, message: impl std::fmt::Display) -> syn::Result<T> {
    Err(syn::Error::new_spanned(tokens, message))
}
