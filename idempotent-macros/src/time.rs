//! Options that are a duration: written down, or an expression that gives one in each call.

use std::time::Duration;

use proc_macro2::{Ident, Literal, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Expr, ExprLit, Lit, UnOp};

use crate::duration::{EXAMPLES, grouped, in_largest_unit, is_rust_suffix, parse};
use crate::errors::Errors;
use crate::options::Given;

/// A duration of the attribute.
pub(crate) enum Time {
    /// Known now.
    Fixed(Duration),
    /// Of the type `Duration`, evaluated in every call; under the option's name as written, for rustc's messages.
    PerCall(Given),
}

/// Longer than any retry window; far from what a store's clock can hold.
const LONGEST: Duration = Duration::from_hours(100 * 365 * 24);

/// Shorter than this, a store's clock and a round trip cannot tell live from lapsed.
const SHORTEST: Duration = Duration::from_millis(10);

const OR_NAME_ONE: &str = "or a constant, a field or a call of type `Duration`";

/// An option that is a duration.
pub(crate) fn time(given: Given, errors: &mut Errors) -> Option<Time> {
    match &given.value {
        Expr::Lit(literal) => fixed(&given.name, literal, errors).map(Time::Fixed),
        Expr::Path(_) | Expr::Field(_) | Expr::Call(_) | Expr::MethodCall(_) | Expr::Block(_) => {
            no_literals_inside(&given.value, errors).then_some(Time::PerCall(given))
        }
        Expr::Unary(negated) if matches!(negated.op, UnOp::Neg(_)) => {
            errors.push(negated, format_args!("`{}` cannot be negative", given.name));
            None
        }
        other => {
            errors.push(other, format_args!("`{}` cannot be computed here; {EXAMPLES}, {OR_NAME_ONE}", given.name));
            None
        }
    }
}

fn fixed(name: &Ident, literal: &ExprLit, errors: &mut Errors) -> Option<Duration> {
    let parsed = match &literal.lit {
        Lit::Int(number) => parse(&number.to_string()),
        Lit::Float(number) => parse(&number.to_string()),
        Lit::Str(string) => parse(&string.value()),
        _ => Err(format!("this is no duration; {EXAMPLES}")),
    };
    let message = match parsed {
        Ok(duration) if duration < SHORTEST => format!("`{name}` must be at least `10ms`"),
        Ok(duration) if duration > LONGEST => format!("`{name}` cannot be longer than a hundred years"),
        Ok(duration) => return Some(duration),
        Err(message) => message,
    };
    errors.push(literal, message);
    None
}

/// Inside an expression `24h` would reach rustc, whose message knows nothing of durations.
fn no_literals_inside(value: &Expr, errors: &mut Errors) -> bool {
    let literals = duration_literals(value.to_token_stream());
    for literal in &literals {
        let text = literal.to_string();
        let instead =
            parse(&text).map_or_else(|_| "a `Duration`".to_owned(), |duration| format!("`{}`", rust(duration)));
        errors.push(literal, format_args!("`{text}` can only stand alone; write {instead}"));
    }
    literals.is_empty()
}

fn duration_literals(tokens: TokenStream) -> Vec<Literal> {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Group(group) => duration_literals(group.stream()),
            TokenTree::Literal(literal) if has_unit(&literal) => vec![literal],
            _ => Vec::new(),
        })
        .collect()
}

fn has_unit(literal: &Literal) -> bool {
    match Lit::new(literal.clone()) {
        Lit::Int(number) => !number.suffix().is_empty() && !is_rust_suffix(number.suffix()),
        _ => false,
    }
}

/// `Duration::from_hours(24)`, for a message.
fn rust(duration: Duration) -> String {
    let (function, number) = in_largest_unit(duration);
    format!("Duration::{function}({})", grouped(number))
}
