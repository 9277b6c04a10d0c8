//! The source text of an expression, as a person would write it: for messages, and for the names of key parts.
//!
//! `TokenStream::to_string` gives spaces that depend on where the tokens come from; this gives the same text always.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// The text of `tokens` on one line.
pub(crate) fn text(tokens: impl ToTokens) -> String {
    let mut text = String::new();
    write(tokens.into_token_stream(), &mut text);
    text
}

fn write(tokens: TokenStream, text: &mut String) {
    let mut glue = true;
    let mut in_closure_arguments = false;
    for token in tokens {
        let closes_arguments = in_closure_arguments && is(&token, "|");
        if !glue && !closes_arguments && wants_space(&token, text) {
            text.push(' ');
        }
        in_closure_arguments ^= is(&token, "|");
        match token {
            TokenTree::Group(group) => {
                let (open, close) = delimiters(group.delimiter());
                text.push_str(open);
                write(group.stream(), text);
                text.push_str(close);
                glue = false;
            }
            TokenTree::Punct(punct) => {
                text.push(punct.as_char());
                let opens_arguments = in_closure_arguments && punct.as_char() == '|';
                glue = opens_arguments || punct.spacing() == Spacing::Joint || "&*!.:'<".contains(punct.as_char());
            }
            other => {
                text.push_str(&other.to_string());
                glue = false;
            }
        }
    }
}

fn wants_space(token: &TokenTree, before: &str) -> bool {
    match token {
        TokenTree::Punct(_) => !is(token, ".,;:?<>!"),
        TokenTree::Group(group) => {
            matches!(group.delimiter(), Delimiter::Brace) || before.ends_with([',', '=', '|', '+', '-', '/'])
        }
        TokenTree::Ident(_) | TokenTree::Literal(_) => true,
    }
}

fn is(token: &TokenTree, one_of: &str) -> bool {
    matches!(token, TokenTree::Punct(punct) if one_of.contains(punct.as_char()))
}

fn delimiters(delimiter: Delimiter) -> (&'static str, &'static str) {
    match delimiter {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{ ", " }"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_expressions_as_people_do() {
        for source in [
            "message.order_id",
            "self.tenant",
            "items[0].id",
            "&message.id",
            "*id",
            "&*message.id",
            "order_key(&message, 3)",
            "Key::of(message.id)",
            "message.id.to_string()",
            "message.parse::<u64>()",
            "message.tags.iter().map(|tag| tag.len())",
            "pair.0.1",
        ] {
            let tokens: TokenStream = source.parse().unwrap();
            assert_eq!(text(tokens), source);
        }
    }
}
