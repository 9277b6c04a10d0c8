//! The handler as the registry shows it.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::LitStr;

use crate::plan::Plan;
use crate::text::text;

/// `register! { … }`, an item: what becomes of it is decided by the runtime, whose features are not known here. Without its
/// feature `registry` it is nothing.
pub(crate) fn registration(plan: &Plan, private: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let word = |text: &str| LitStr::new(text, mixed);
    let function = word(&plan.function.name.to_string());
    let keys = plan.keys.iter().map(|key| word(&text(key)));
    let (prefix, ttl) = (&plan.prefix, word(&plan.ttl_text));
    let step = plan.step.as_ref().map(|step| quote_spanned!(mixed=> , #step));
    quote_spanned! {mixed=>
        #private::register! { #function, #prefix #step, [#(#keys),*], #ttl }
    }
}
