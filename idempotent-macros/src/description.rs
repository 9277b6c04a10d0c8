//! The description of the handler: all options that are known when it is compiled, where they are not the default.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote_spanned;
use syn::LitStr;

use crate::choice::Words;
use crate::duration::{grouped, in_largest_unit};
use crate::plan::Plan;
use crate::text::text;
use crate::time::{Time, Ttl};

/// `&Handler::new(…).ttl(…)`; the runtime's names are found in `private`.
pub(crate) fn description(plan: &Plan, private: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let prefix = &plan.prefix;
    let names = plan.keys.iter().map(|key| LitStr::new(&text(key), mixed));
    let wait = plan.on_busy.patience().and_then(duration);
    let settings = [
        fixed("ttl", plan.ttl.duration()),
        matches!(plan.ttl, Ttl::Forever).then(|| quote_spanned!(mixed=> .forever())),
        fixed("lease", plan.lease.as_ref()),
        fixed("timeout", plan.timeout.as_ref()),
        chosen("on_duplicate", plan.on_duplicate, private),
        chosen("on_crash", plan.on_crash, private),
        chosen("on_outage", plan.on_outage, private),
        chosen("on_lost", plan.on_lost, private),
        wait.map(|wait| quote_spanned!(mixed=> .on_busy(#private::OnBusy::Wait(#wait)))),
        plan.max_attempts.map(|attempts| {
            let attempts = Literal::u32_unsuffixed(attempts.get());
            quote_spanned!(mixed=> .max_attempts(#attempts))
        }),
        plan.fenced.then(|| quote_spanned!(mixed=> .fenced())),
        plan.hidden.then(|| quote_spanned!(mixed=> .hidden())),
        plan.verify.as_ref().map(|_| quote_spanned!(mixed=> .verify())),
        plan.existing.as_ref().map(|_| quote_spanned!(mixed=> .existing())),
    ];
    let settings = settings.iter().flatten();
    quote_spanned! {mixed=>
        &#private::Handler::new(#prefix, &[#(#names),*]) #(#settings)*
    }
}

/// `.on_crash(OnCrash::Hold)`, where it is not the default.
fn chosen<W: Words>(option: &str, choice: W, private: &TokenStream) -> Option<TokenStream> {
    let [option, ty, variant] = [option, W::TYPE, choice.variant()?].map(|name| Ident::new(name, Span::mixed_site()));
    Some(quote_spanned!(Span::mixed_site()=> .#option(#private::#ty::#variant)))
}

/// `.ttl(Duration::from_hours(24))`, if it is known now.
fn fixed(option: &str, time: Option<&Time>) -> Option<TokenStream> {
    let duration = duration(time?)?;
    let option = Ident::new(option, Span::mixed_site());
    Some(quote_spanned!(Span::mixed_site()=> .#option(#duration)))
}

/// `Duration::from_hours(24)`, if it is known now.
fn duration(time: &Time) -> Option<TokenStream> {
    let Time::Fixed(duration) = time else { return None };
    let mixed = Span::mixed_site();
    let (function, number) = in_largest_unit(*duration);
    let function = Ident::new(function, mixed);
    let number = grouped(number).parse::<Literal>().expect("digits and underscores are a literal");
    Some(quote_spanned!(mixed=> ::core::time::Duration::#function(#number)))
}
