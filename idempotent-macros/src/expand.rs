//! From a plan to code. Nothing can go wrong here, and nothing is decided here: where expanded code would need an `if`,
//! the decision belongs into the runtime.
//!
//! Spans carry the diagnostics. The user's tokens keep their own. What rustc must check for us is located at the user's
//! tokens too: rustc draws its caret from a node's first token to its last, so these get the first and the last span of
//! what is meant.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::Expr;

use crate::choice::{OnDuplicate, OnError};
use crate::description::description;
use crate::function::Function;
use crate::options::Given;
use crate::plan::Plan;
use crate::registration::registration;
use crate::signature::{self, Around};
use crate::time::Time;

// Input:
//     async fn consume(message: OrderMessage) -> Result<Receipt, OrderError> {
//         kitchen.prepare(&message).await
//     }
//
// Output (`private` stands for `::idempotent_runtime::__private`):
//     async fn consume(message: OrderMessage) -> Result<Receipt, OrderError> {
//         private::register! { "consume", "order:consume", ["message.order_id"], "24h" }
//         let call = private::call(
//             &private::Handler::new("order:consume", &["message.order_id"]).ttl(Duration::from_hours(24)),
//             &[&(message.order_id)],
//             private::value(),
//             private::Errors::<Result<Receipt, OrderError>>::by_from().with_text(),
//         );
//         call.run(async move {
//             if false { return private::never::<Result<Receipt, OrderError>>(); }
//             kitchen.prepare(&message).await
//         })
//         .await
//     }
pub(crate) fn expand(plan: &Plan) -> TokenStream {
    let Function { head, body, inner_attributes, around, .. } = &plan.function;
    let guarded = wrapped(around, guarded(plan));
    let body = braced(body, quote!(#inner_attributes #guarded));
    quote!(#head #body)
}

/// The call, and the body under it.
fn guarded(plan: &Plan) -> TokenStream {
    let mixed = Span::mixed_site();
    let private = private(plan);
    let Function { reply, .. } = &plan.function;

    let registration = registration(plan, &private);
    let description = description(plan, &private);
    let (first, last) = ends(signature::sides(reply).0);
    let (first, last) = (mixed.located_at(first), mixed.located_at(last));
    let call = path_at(plan, &Ident::new(if plan.via.is_some() { "call_via" } else { "call" }, last), first);
    let via = plan.via.as_ref().map(borrowed).map(|via| quote_spanned!(mixed=> #via,));
    let keys = plan.keys.iter().map(borrowed);
    let (value, errors) = (value(plan), errors(plan));
    let builders = [
        (!plan.fingerprint.is_empty()).then(|| {
            let parts = plan.fingerprint.iter().map(borrowed);
            quote_spanned!(mixed=> .fingerprint(&[#(#parts),*]))
        }),
        per_call(plan.ttl.duration()),
        per_call(plan.lease.as_ref()),
        per_call(plan.timeout.as_ref()),
        per_call(plan.on_busy.patience()),
    ];
    let builders = builders.iter().flatten();

    // Located at `T`: that `T` borrows what no duplicate could is found by the borrow checker, which reports it here.
    let arguments = quote_spanned!(mixed=> #description, #via &[#(#keys),*], #value, #errors);
    let arguments = in_group(Delimiter::Parenthesis, arguments, last);

    let import = import(plan);
    let run = match &plan.within {
        None => {
            let questions = [&plan.verify, &plan.existing].into_iter().flatten().map(|given| question(plan, given));
            let block = block(plan, &quote_spanned!(mixed=> #(#questions)*));
            quote_spanned!(mixed=> call.run(async move #block).await)
        }
        Some(transaction) => within(plan, transaction),
    };
    quote_spanned! {mixed=>
        #import
        #registration
        let call = #call #arguments #(#builders)*;
        #run
    }
}

/// The body in its braces, `first` in front of it.
fn block(plan: &Plan, first: &TokenStream) -> TokenTree {
    let Function { guarded, braces, reply, .. } = &plan.function;
    let private = private(plan);
    let block = quote_spanned! {Span::mixed_site()=>
        if false {
            return #private::never::<#reply>();
        }
        #first
        #guarded
    };
    braced(braces, block)
}

/// The turns of a call in its caller's transaction, which each part of the handler has while it runs.
fn within(plan: &Plan, transaction: &Ident) -> TokenStream {
    let mixed = Span::mixed_site();
    let questions = [(&plan.verify, "verifying", "verified"), (&plan.existing, "asking", "asked")];
    let questions = questions.iter().filter_map(|&(given, turn, answered)| {
        let asked = asked(plan, given.as_ref()?, "_within");
        let [turn, answered] = [turn, answered].map(|name| Ident::new(name, mixed));
        Some(quote_spanned! {mixed=>
            if let ::core::option::Option::Some((scope, #transaction)) = call.#turn() {
                let _ = &#transaction;
                let answer = scope.run(#asked).await;
                call.#answered(answer).await;
            }
        })
    });
    let block = block(plan, &TokenStream::new());
    let place = transaction.span();
    let checked = path_at(plan, &Ident::new("transaction", place), place);
    let claim = quote_spanned!(place=> #checked(#transaction));
    quote_spanned! {mixed=>
        let mut call = call.within(#claim).await;
        #(#questions)*
        if let ::core::option::Option::Some((scope, #transaction)) = call.running() {
            let reply = scope.run(async move #block).await;
            call.returned(reply).await;
        }
        call.end()
    }
}

/// What is done with the value: rustc checks `T` here.
fn value(plan: &Plan) -> TokenStream {
    let reply = &plan.function.reply;
    let (value, _) = signature::sides(reply);
    match plan.on_duplicate {
        OnDuplicate::Replay => located(plan, "value", value, None),
        OnDuplicate::Skip => located(plan, "skipped", value, None),
        OnDuplicate::Reject => located(plan, "unrecorded", reply, None),
    }
}

/// How the runtime's errors become the function's, and how its own are settled: rustc checks `E` here.
fn errors(plan: &Plan) -> TokenStream {
    let mixed = Span::mixed_site();
    let reply = &plan.function.reply;
    let (_, place) = signature::sides(reply);
    let (first, last) = ends(place);
    let errors = path_at(plan, &Ident::new("Errors", first), first);
    let errors = match &plan.map_err {
        None => quote_spanned!(last=> #errors::<#reply>::by_from()),
        Some(Given { name, value }) => {
            let map_err = path_at(plan, name, name.span());
            quote_spanned!(mixed=> #errors::<#reply>::by(|error| #map_err(error, #value)))
        }
    };
    match &plan.on_error {
        OnError::Release => quote_spanned!(mixed=> #errors.with_text()),
        OnError::Record => located(plan, "recorded", place, Some(&errors)),
        OnError::Judge(Given { name, value }) => {
            let judge = path_at(plan, &Ident::new("judge", name.span()), name.span());
            quote_spanned!(mixed=> #errors.with_text().judged(|reply| #judge(reply, #value)))
        }
    }
}

/// `if let Some(reply) = Ask::<R>::existing(expression).await { return reply; }`, in front of the body: rustc checks the
/// expression's type under the expression.
fn question(plan: &Plan, given: &Given) -> TokenStream {
    let asked = asked(plan, given, "");
    quote_spanned! {Span::mixed_site()=>
        if let ::core::option::Option::Some(reply) = #asked.await {
            return reply;
        }
    }
}

/// `Ask::<R>::existing(expression)`, or the function of that name with a suffix.
fn asked(plan: &Plan, Given { name, value }: &Given, suffix: &str) -> TokenStream {
    let reply = &plan.function.reply;
    let (first, last) = ends(value);
    let ask = path_at(plan, &Ident::new("Ask", first), first);
    let name = Ident::new(&format!("{name}{suffix}"), last);
    quote_spanned!(last=> #ask::<#reply>::#name(#value))
}

/// The private module, where expanded code finds all it needs.
fn private(plan: &Plan) -> TokenStream {
    private_at(plan, Span::mixed_site())
}

/// The path to `name` in the private module as if the user had written it at `place`.
fn path_at(plan: &Plan, name: &Ident, place: Span) -> TokenStream {
    let private = private_at(plan, place);
    quote_spanned!(place=> #private::#name)
}

fn private_at(plan: &Plan, place: Span) -> TokenStream {
    if plan.runtime.is_some() {
        quote_spanned!(place=> __idempotent)
    } else {
        quote_spanned!(place=> ::idempotent_runtime::__private)
    }
}

/// `use my_crate::runtime::__private as __idempotent;`: where the path is wrong, that is reported once.
fn import(plan: &Plan) -> Option<TokenStream> {
    let path = plan.runtime.as_ref()?;
    let (_, last) = ends(path);
    let private = quote_spanned!(Span::mixed_site().located_at(last)=> ::__private as __idempotent);
    Some(quote_spanned!(Span::mixed_site()=> use #path #private;))
}

/// A call of `name(argument)` in the private module as if the user had written it at `place`: rustc's message then
/// speaks of nothing else.
fn located(plan: &Plan, name: &str, place: &impl ToTokens, argument: Option<&TokenStream>) -> TokenStream {
    let (first, last) = ends(place);
    let path = path_at(plan, &Ident::new(name, last), first);
    quote_spanned!(last=> #path(#argument))
}

/// `.ttl(self.ttl)`, of the call: the user's own word for the option is the method's name, so that a wrong type is
/// reported there.
fn per_call(time: Option<&Time>) -> Option<TokenStream> {
    let Some(Time::PerCall(Given { name, value })) = time else { return None };
    Some(quote_spanned!(Span::mixed_site()=> .#name(#value)))
}

/// `&(expr)`, so that what rustc says of the coercion stands under the whole expression.
fn borrowed(expr: &Expr) -> TokenStream {
    let (first, last) = ends(expr);
    let reference = TokenTree::Punct(proc_macro2::Punct::new('&', proc_macro2::Spacing::Alone));
    let group = TokenTree::Group(Group::new(Delimiter::Parenthesis, expr.to_token_stream()));
    [(reference, first), (group, last)]
        .into_iter()
        .map(|(mut token, span)| {
            token.set_span(Span::mixed_site().located_at(span));
            token
        })
        .collect()
}

/// The first and the last span of `tokens`.
pub(crate) fn ends(tokens: &impl ToTokens) -> (Span, Span) {
    let mut spans = tokens.to_token_stream().into_iter().map(|token| token.span());
    let first = spans.next().unwrap_or_else(Span::call_site);
    (first, spans.last().unwrap_or(first))
}

fn wrapped(around: &Around, guarded: TokenStream) -> TokenStream {
    match around {
        Around::Nothing => guarded,
        Around::Block { keywords } if keywords.clone().into_iter().count() == 1 => quote!(#keywords move { #guarded }),
        Around::Block { keywords } => quote!(#keywords { #guarded }),
        Around::Call { function, parentheses, inner } => {
            let group = in_group(parentheses.delimiter(), wrapped(inner, guarded), parentheses.span());
            quote!(#function #group)
        }
        Around::Method { inner, call } => {
            let inner = wrapped(inner, guarded);
            quote!(#inner #call)
        }
    }
}

/// `tokens` in the braces of `group`.
fn braced(group: &Group, tokens: TokenStream) -> TokenTree {
    in_group(Delimiter::Brace, tokens, group.span())
}

fn in_group(delimiter: Delimiter, tokens: TokenStream, place: Span) -> TokenTree {
    let mut group = Group::new(delimiter, tokens);
    group.set_span(place);
    TokenTree::Group(group)
}
