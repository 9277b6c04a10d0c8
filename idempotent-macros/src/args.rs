//! Parses what stands in the parentheses of the attribute: a list of `name = value`. Judges nothing: which names there
//! are, and what their values may be, is the plan's business.

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Expr, ExprLit, Ident, Lit, Token};

use crate::errors::Errors;

/// The options as written, in their order, and what could not be read.
pub(crate) struct Args {
    pub(crate) entries: Vec<Entry>,
    pub(crate) errors: Errors,
}

/// `name = value`, or a flag.
pub(crate) struct Entry {
    pub(crate) name: Ident,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    Given(Expr),
    /// `keys = order.id, order.line`: several values that lack their brackets.
    Several(Vec<Expr>),
    /// The name alone.
    Absent,
    /// The name and `=`, and no value.
    Empty,
    /// Reported already: the option is there, so it must not be reported as missing too.
    Unreadable,
}

impl Args {
    pub(crate) fn parse(tokens: TokenStream) -> Self {
        let mut args = Self { entries: Vec::new(), errors: Errors::default() };
        let outcome = (|input: ParseStream<'_>| {
            while !input.is_empty() {
                args.parse_entry(input);
            }
            Ok(())
        })
        .parse2(tokens);
        if let Err(error) = outcome {
            args.errors.add(error);
        }
        args
    }

    /// Reads one option and the comma after it.
    fn parse_entry(&mut self, input: ParseStream<'_>) {
        if input.peek(Ident::peek_any) && input.peek2(Token![.]) {
            return self.parse_another_value(input);
        }
        let name = match name(input) {
            Ok(name) => name,
            Err(error) => {
                self.errors.add(error);
                return skip_to_next(input);
            }
        };
        let mut value = value(input, &name).unwrap_or_else(|error| {
            self.errors.add(error);
            Value::Unreadable
        });
        let at_end = input.is_empty() || input.peek(Token![,]);
        let comma_missing = !at_end && input.peek2(Token![=]);
        if !at_end && !matches!(value, Value::Unreadable) {
            self.errors.add(trailing(input, &value));
            if !comma_missing {
                value = Value::Unreadable;
            }
        }
        self.entries.push(Entry { name, value });
        if !comma_missing {
            skip_to_next(input);
        }
    }

    /// `order.line` where an option is expected: another value of the option before.
    fn parse_another_value(&mut self, input: ParseStream<'_>) {
        match (input.parse::<Expr>(), self.entries.last_mut().map(|entry| &mut entry.value)) {
            (Ok(another), Some(Value::Several(values))) => values.push(another),
            (Ok(another), Some(value @ Value::Given(_))) => {
                if let Value::Given(first) = std::mem::replace(value, Value::Unreadable) {
                    *value = Value::Several(vec![first, another]);
                }
            }
            (Ok(another), _) => self.errors.push(another, EXPECTED),
            (Err(error), _) => self.errors.add(error),
        }
        skip_to_next(input);
    }
}

const EXPECTED: &str = "expected an option, written `name = value`";

fn name(input: ParseStream<'_>) -> syn::Result<Ident> {
    if input.peek(syn::LitStr) {
        return Err(input.error("options have names; is this the `prefix`? write `prefix = \"…\"`"));
    }
    input.call(Ident::parse_any).map_err(|error| syn::Error::new(error.span(), EXPECTED))
}

fn value(input: ParseStream<'_>, name: &Ident) -> syn::Result<Value> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(Value::Absent);
    }
    if !input.peek(Token![=]) || input.peek(Token![==]) {
        return Err(input.error(format_args!("expected `=`; write `{name} = value`")));
    }
    input.parse::<Token![=]>()?;
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(Value::Empty);
    }
    input.parse().map(Value::Given)
}

/// What follows a value and is no comma.
fn trailing(input: ParseStream<'_>, value: &Value) -> syn::Error {
    match (value, input.fork().call(Ident::parse_any)) {
        (Value::Given(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })), Ok(unit))
            if number.suffix().is_empty() && !input.peek2(Token![=]) =>
        {
            input.error(format_args!("a duration is one word; write `{number}{unit}`"))
        }
        _ => input.error("expected `,` before the next option"),
    }
}

/// Goes on after the next comma.
fn skip_to_next(input: ParseStream<'_>) {
    while !input.is_empty() {
        if input.peek(Token![,]) {
            let _ = input.parse::<Token![,]>();
            return;
        }
        let _ = input.parse::<TokenTree>();
    }
}
