//! The sink of a whole phase: every mistake is reported, not only the first.

use std::fmt::Display;

use proc_macro2::Span;
use quote::ToTokens;

#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Reports `message` under all of `tokens`.
    pub(crate) fn push(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(tokens, message));
    }

    /// Reports `message` at `span`.
    pub(crate) fn push_at(&mut self, span: Span, message: impl Display) {
        self.add(syn::Error::new(span, message));
    }

    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Takes over what another phase has found.
    pub(crate) fn absorb(&mut self, other: Self) {
        if let Some(error) = other.0 {
            self.add(error);
        }
    }

    /// The value of a phase, if nothing was reported and the value is there.
    ///
    /// # Panics
    ///
    /// If the value is missing although nothing was reported: whoever gives up a value must have said why.
    pub(crate) fn finish<T>(self, value: Option<T>) -> syn::Result<T> {
        match (self.0, value) {
            (Some(error), _) => Err(error),
            (None, Some(value)) => Ok(value),
            (None, None) => unreachable!("a value is missing and nobody has reported why"),
        }
    }
}
