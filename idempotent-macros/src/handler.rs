//! Parses what the attribute stands on. Judges nothing.
//!
//! The body stays the token group that it is: parsing it would cost time on every build and could only lose something.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Signature, Token, Visibility};

/// What the attribute stands on.
pub(crate) enum Item {
    Function(Box<Handler>),
    /// A function without a body: a declaration in a trait.
    Declaration(Box<Signature>),
    /// Something else, with the keyword that says what.
    Other(TokenTree),
    /// A function that cannot be read.
    Unreadable(syn::Error),
}

/// A function.
pub(crate) struct Handler {
    /// All that stands before the body, as written: attributes, visibility, signature.
    pub(crate) head: TokenStream,
    /// The signature again, to be asked questions.
    pub(crate) signature: Signature,
    pub(crate) body: Group,
}

impl Item {
    pub(crate) fn parse(tokens: TokenStream) -> Self {
        let mut head: Vec<TokenTree> = tokens.into_iter().collect();
        let last = head.pop();
        match (parse_head.parse2(head.iter().cloned().collect()), last) {
            (Ok(Head::Signature(signature)), Some(TokenTree::Group(body))) => {
                let (head, body) = (head.into_iter().collect(), unwrapped(body));
                Self::Function(Box::new(Handler { head, signature: *signature, body }))
            }
            (Ok(Head::Signature(signature)), _) => Self::Declaration(signature),
            (Ok(Head::Other(keyword)), _) => Self::Other(keyword),
            (Err(error), _) => Self::Unreadable(error),
        }
    }
}

enum Head {
    Signature(Box<Signature>),
    Other(TokenTree),
}

fn parse_head(input: ParseStream<'_>) -> syn::Result<Head> {
    input.call(Attribute::parse_outer)?;
    input.parse::<Visibility>()?;
    if input.peek(Token![default]) && !input.peek2(Token![!]) {
        input.parse::<Token![default]>()?;
    }
    if starts_function(&input.fork()) {
        return Ok(Head::Signature(input.parse()?));
    }
    let keyword = input.parse()?;
    input.parse::<TokenStream>()?;
    Ok(Head::Other(keyword))
}

/// Whether `fn` follows, after nothing but what may stand in front of it.
fn starts_function(input: ParseStream<'_>) -> bool {
    let _ = input.parse::<Option<Token![const]>>();
    let _ = input.parse::<Option<Token![async]>>();
    let _ = input.parse::<Option<Token![unsafe]>>();
    let _ = input.parse::<Option<syn::Abi>>();
    input.peek(Token![fn])
}

/// The group itself, where a macro by example has wrapped it (`$body:block`) in invisible delimiters.
pub(crate) fn unwrapped(group: Group) -> Group {
    if group.delimiter() != Delimiter::None {
        return group;
    }
    let mut tokens = group.stream().into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Group(inner)), None) => unwrapped(inner),
        _ => group,
    }
}
