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
    pub(crate) value: Option<Expr>,
}

impl Args {
    pub(crate) fn parse(tokens: TokenStream) -> Self {
        let mut args = Self { entries: Vec::new(), errors: Errors::default() };
        let outcome = (|input: ParseStream<'_>| {
            args.parse_entries(input);
            Ok(())
        })
        .parse2(tokens);
        if let Err(error) = outcome {
            args.errors.add(error);
        }
        args
    }

    fn parse_entries(&mut self, input: ParseStream<'_>) {
        while !input.is_empty() {
            match parse_entry(input) {
                Ok(entry) => self.entries.push(entry),
                Err(error) => {
                    self.errors.add(error);
                    skip_to_comma(input);
                }
            }
            // `parse_entry` and `skip_to_comma` stop at a comma or at the end.
            let _ = input.parse::<Token![,]>();
        }
    }
}

fn parse_entry(input: ParseStream<'_>) -> syn::Result<Entry> {
    if input.peek(syn::LitStr) {
        return Err(input.error("options have names; is this the `prefix`? write `prefix = \"…\"`"));
    }
    let name = input
        .call(Ident::parse_any)
        .map_err(|error| syn::Error::new(error.span(), "expected an option, written `name = value`"))?;
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(Entry { name, value: None });
    }
    if !input.peek(Token![=]) || input.peek(Token![==]) {
        return Err(input.error(format_args!("expected `=`; write `{name} = value`")));
    }
    input.parse::<Token![=]>()?;
    if input.is_empty() || input.peek(Token![,]) {
        return Err(syn::Error::new(name.span(), format_args!("`{name} =` has no value")));
    }
    let value = input.parse()?;
    if !input.is_empty() && !input.peek(Token![,]) {
        return Err(trailing(input, &value));
    }
    Ok(Entry { name, value: Some(value) })
}

/// What follows a value and is no comma.
fn trailing(input: ParseStream<'_>, value: &Expr) -> syn::Error {
    match (value, input.fork().call(Ident::parse_any)) {
        (Expr::Lit(ExprLit { lit: Lit::Int(number), .. }), Ok(unit)) if number.suffix().is_empty() => {
            input.error(format_args!("a duration is one word; write `{number}{unit}`"))
        }
        _ => input.error("expected `,` and the next option"),
    }
}

fn skip_to_comma(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        let _ = input.parse::<TokenTree>();
    }
}
