//! What comes out where something is wrong: the function as it was, so that nothing else is reported and an editor goes
//! on completing, and each message at its place.

use proc_macro2::TokenStream;

pub(crate) fn fallback(mut untouched: TokenStream, error: &syn::Error) -> TokenStream {
    untouched.extend(error.to_compile_error());
    untouched
}
