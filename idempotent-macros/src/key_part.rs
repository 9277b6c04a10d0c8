//! `#[derive(KeyPart)]`: a type of one's own as a part of a key, or as several.

use proc_macro2::TokenStream;
use syn::DeriveInput;

mod attributes;
mod expand;
mod plan;

/// Parse, plan, expand; where there is a mistake, what is to be said and an implementation that is never run, so that
/// nothing else is reported.
pub(crate) fn derive(item: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let mut errors = crate::errors::Errors::default();
    let plan = plan::plan(&input, &mut errors);
    match errors.finish(Some(plan)) {
        Ok(plan) => expand::expand(&plan),
        Err(error) => {
            let messages = error.to_compile_error();
            let stub = expand::stub(&input);
            quote::quote!(#messages #stub)
        }
    }
}
