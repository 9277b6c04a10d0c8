//! What comes out where something is wrong: the function as it was, so that nothing else is reported and an editor goes
//! on completing, and each message at its place.

use proc_macro2::TokenStream;
use quote::quote;

pub(crate) fn fallback(untouched: &TokenStream, error: &syn::Error) -> TokenStream {
    let messages = error.to_compile_error();
    // A parameter that only the attribute uses is not unused.
    quote! {
        #[allow(unused_variables)]
        #untouched
        #messages
    }
}
