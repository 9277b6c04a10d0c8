//! The `#[idempotent]` attribute and `#[derive(KeyPart)]` of `idempotent-runtime`, which re-exports them: depend on that
//! crate alone.
//!
//! ```text
//! attribute ─ args ─┐
//!                   ├─ plan ─┬─ expand      code
//! function ─ handler┘        └─ fallback    the function as it was, and what is wrong
//! ```

use proc_macro2::TokenStream;

mod args;
mod choice;
mod description;
mod duration;
mod errors;
mod expand;
mod fallback;
mod function;
mod handler;
mod key_part;
mod keys;
mod number;
mod options;
mod paths;
mod plan;
mod question;
mod registration;
mod signature;
mod suggest;
mod text;
mod time;
mod within;

#[cfg(test)]
mod tests;

#[doc = include_str!("idempotent.md")]
#[proc_macro_attribute]
pub fn idempotent(args: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    rewrite(args.into(), item.into()).into()
}

#[doc = include_str!("key_part.md")]
#[proc_macro_derive(KeyPart, attributes(key))]
pub fn key_part(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    key_part::derive(item.into()).into()
}

/// Parse, plan, expand; where one of the first two finds a mistake, the function as it was and what is to be said.
fn rewrite(args: TokenStream, item: TokenStream) -> TokenStream {
    let untouched = item.clone();
    let parsed = (args::Args::parse(args), handler::Item::parse(item));
    match plan::Plan::new(parsed.0, parsed.1) {
        Ok(plan) => expand::expand(&plan),
        Err(error) => fallback::fallback(&untouched, &error),
    }
}
