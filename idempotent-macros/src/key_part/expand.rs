//! From a plan to an implementation.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{DeriveInput, Generics, Member, Path, WherePredicate, parse_quote_spanned};

use super::plan::{Field, Parts, Plan};
use crate::expand::ends;

// Input:
//     #[derive(KeyPart)]
//     struct OrderId {
//         shop: u32,
//         number: u64,
//     }
//
// Output:
//     #[diagnostic::do_not_recommend]
//     impl ::idempotent_runtime::KeyPart for OrderId {
//         fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
//             ::idempotent_runtime::KeyPart::encode(&self.shop, parts)?;
//             ::idempotent_runtime::KeyPart::encode(&self.number, parts)?;
//             Ok(())
//         }
//     }
pub(super) fn expand(plan: &Plan<'_>) -> TokenStream {
    let mixed = Span::mixed_site();
    let runtime = path(plan.runtime.as_ref(), mixed);
    let (body, bounds) = match &plan.parts {
        Parts::Fields(fields) => {
            let parts = fields.iter().map(|field| field_part(field, plan.runtime.as_ref()));
            let generic = fields.iter().filter(|field| field.generic);
            let bounds = generic.map(|Field { ty, .. }| parse_quote_spanned!(mixed=> #ty: #runtime::KeyPart)).collect();
            (quote_spanned!(mixed=> #(#parts)* ::core::result::Result::Ok(())), bounds)
        }
        Parts::Variants(variants) => {
            let (variants, names): (Vec<_>, Vec<_>) = variants.iter().cloned().unzip();
            let name = quote_spanned!(mixed=> match self { #(Self::#variants => #names,)* });
            (quote_spanned!(mixed=> parts.push(#name)), Vec::new())
        }
    };
    implementation(plan.name, plan.generics, &runtime, bounds, &body)
}

/// An implementation that is never run.
pub(super) fn stub(input: &DeriveInput) -> TokenStream {
    let mixed = Span::mixed_site();
    let body = quote_spanned!(mixed=> let _ = parts; ::core::unreachable!());
    implementation(&input.ident, &input.generics, &path(None, mixed), Vec::new(), &body)
}

fn implementation(
    name: &Ident,
    generics: &Generics,
    runtime: &TokenStream,
    bounds: Vec<WherePredicate>,
    body: &TokenStream,
) -> TokenStream {
    // Under bounds the implementation is worth a mention: it leads to the type that does not meet them.
    let quiet = bounds.is_empty().then(|| quote_spanned!(Span::mixed_site()=> #[diagnostic::do_not_recommend]));
    let mut generics = generics.clone();
    if !bounds.is_empty() {
        generics.make_where_clause().predicates.extend(bounds);
    }
    let (parameters, arguments, conditions) = generics.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        #quiet
        impl #parameters #runtime::KeyPart for #name #arguments #conditions {
            fn encode(
                &self,
                parts: &mut #runtime::KeyParts<'_>,
            ) -> ::core::result::Result<(), #runtime::MissingPart> {
                #body
            }
        }
    }
}

/// `KeyPart::encode(&self.field, parts)?;` as if it stood at the field's type: there a type that is no key part is
/// reported.
fn field_part(Field { member, ty, .. }: &Field<'_>, runtime: Option<&Path>) -> TokenStream {
    let (first, last) = ends(ty);
    let (first, last) = (Span::mixed_site().located_at(first), Span::mixed_site().located_at(last));
    let runtime = path(runtime, first);
    let mut member = member.clone();
    match &mut member {
        Member::Named(name) => name.set_span(name.span().located_at(last)),
        Member::Unnamed(index) => index.span = last,
    }
    let this = quote_spanned!(first=> &self);
    quote_spanned!(last=> #runtime::KeyPart::encode(#this.#member, parts)?;)
}

fn path(runtime: Option<&Path>, place: Span) -> TokenStream {
    runtime.map_or_else(|| quote_spanned!(place=> ::idempotent_runtime), ToTokens::to_token_stream)
}
