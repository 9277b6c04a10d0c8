//! Options that are a duration: written down, or an expression that gives one in each call.

use std::time::Duration;

use proc_macro2::{Ident, Literal, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Expr, ExprLit, Lit, UnOp};

use crate::duration::{EXAMPLES, grouped, in_largest_unit, is_rust_suffix, parse};
use crate::errors::Errors;
use crate::options::Given;
use crate::suggest;
use crate::text::text;

/// A duration of the attribute.
pub(crate) enum Time {
    /// Known now.
    Fixed(Duration),
    /// Of the type `Duration`, evaluated in every call; under the option's name as written, for rustc's messages.
    PerCall(Given),
}

/// `ttl`: how long a completed record is kept.
pub(crate) enum Ttl {
    For(Time),
    Forever,
}

impl Ttl {
    pub(crate) fn duration(&self) -> Option<&Time> {
        match self {
            Self::For(time) => Some(time),
            Self::Forever => None,
        }
    }
}

/// What an option that is a duration allows.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    shortest: Duration,
    longest: (Duration, &'static str),
    /// What to say to `forever`.
    forever: &'static str,
}

/// Shorter than this, a store's clock and a round trip cannot tell live from lapsed.
const SHORTEST: Duration = Duration::from_millis(10);

/// Longer than any retry window; far from what a store's clock can hold.
const A_HUNDRED_YEARS: (Duration, &str) =
    (Duration::from_hours(100 * 365 * 24), "cannot be longer than a hundred years");

const TTL: Bounds = Bounds { shortest: SHORTEST, longest: A_HUNDRED_YEARS, forever: "`forever` stands alone" };

pub(crate) const LEASE: Bounds = Bounds {
    shortest: SHORTEST,
    // A lease this long is a retry window that went to the wrong option.
    longest: (
        Duration::from_hours(24),
        "is how long a crashed run keeps its key, a day at most; how long duplicates are recognised is `ttl`",
    ),
    forever: "a lease lapses, or a crashed run would keep its key; for a person to decide then, write `on_crash = hold`",
};

pub(crate) const TIMEOUT: Bounds = Bounds {
    shortest: Duration::from_millis(1),
    longest: A_HUNDRED_YEARS,
    forever: "without `timeout` a run may take for ever; leave the option out",
};

pub(crate) const WAIT: Bounds = Bounds {
    shortest: Duration::from_millis(1),
    longest: A_HUNDRED_YEARS,
    forever: "a caller cannot wait for ever; write how long, such as `wait(30s)`",
};

const OR_NAME_ONE: &str = "or a constant, a field or a call of type `Duration`";

/// An option that is a duration.
pub(crate) fn time(bounds: Bounds) -> impl FnOnce(Given, &mut Errors) -> Option<Time> {
    move |given, errors| match &given.value {
        Expr::Lit(literal) => fixed(&given.name, literal, bounds, errors).map(Time::Fixed),
        value if is_forever(value) => {
            errors.push(value, bounds.forever);
            None
        }
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

/// `ttl`: a duration, or `forever`.
pub(crate) fn ttl(parameters: &[Ident]) -> impl FnOnce(Given, &mut Errors) -> Option<Ttl> {
    move |given, errors| {
        if is_forever(&given.value) {
            return Some(Ttl::Forever);
        }
        let message = match &given.value {
            Expr::Lit(ExprLit { lit: Lit::Str(word), .. }) if word.value() == "forever" => {
                "`forever` is a word, not a string; write `ttl = forever`".to_owned()
            }
            value => match misspelt_forever(value, parameters) {
                Some(word) => format!("`{word}` is no duration; did you mean `forever`?"),
                None => return time(TTL)(given, errors).map(Ttl::For),
            },
        };
        errors.push(given.value, message);
        None
    }
}

/// A duration as a person reads it: `24h`, `"1h 30m"` without its quotes, `self.ttl`, `forever`.
pub(crate) fn written(value: &Expr) -> String {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(words), .. }) => words.value(),
        value => text(value),
    }
}

fn is_forever(value: &Expr) -> bool {
    matches!(value, Expr::Path(path) if path.path.is_ident("forever"))
}

fn misspelt_forever<'a>(value: &'a Expr, parameters: &[Ident]) -> Option<&'a Ident> {
    let Expr::Path(path) = value else { return None };
    let word = path.path.get_ident().filter(|word| !parameters.contains(word))?;
    suggest::nearest(&word.to_string(), ["forever"]).map(|_| word)
}

fn fixed(name: &Ident, literal: &ExprLit, bounds: Bounds, errors: &mut Errors) -> Option<Duration> {
    let parsed = match &literal.lit {
        Lit::Int(number) => parse(&number.to_string()),
        Lit::Float(number) => parse(&number.to_string()),
        Lit::Str(string) => parse(&string.value()),
        _ => Err(format!("this is no duration; {EXAMPLES}")),
    };
    let (longest, too_long) = bounds.longest;
    let message = match parsed {
        Ok(duration) if duration < bounds.shortest => {
            format!("`{name}` must be at least `{}ms`", bounds.shortest.as_millis())
        }
        Ok(duration) if duration > longest => format!("`{name}` {too_long}"),
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
