//! The options as a table: which there are, that none is unknown or given twice, and the plain kinds of value.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{Expr, ExprClosure, ExprGroup, ExprLit, ExprParen, Ident, Lit, LitStr, Path};

use crate::args::{Args, Entry, Value};
use crate::errors::Errors;
use crate::signature::bindings;
use crate::suggest;
use crate::text::text;

/// Every option with an example of its use, for messages. A new option starts here.
const OPTIONS: &[(&str, &str)] = &[
    ("prefix", "prefix = \"order:consume\""),
    ("keys", "keys = [message.order_id]"),
    ("ttl", "ttl = 24h"),
    ("lease", "lease = 30s"),
    ("fingerprint", "fingerprint = [message.amount]"),
    ("on_duplicate", "on_duplicate = replay"),
    ("on_busy", "on_busy = reject"),
    ("on_error", "on_error = release"),
    ("on_outage", "on_outage = reject"),
    ("via", "via = self.idempotency"),
    ("map_err", "map_err = MyError::from_idempotency"),
    ("crate", "crate = my_crate::idempotent_runtime"),
];

/// An option that was given, with its value freed of what does not matter.
pub(crate) struct Given {
    pub(crate) name: Ident,
    pub(crate) value: Expr,
}

/// The options given. The plan takes them out one by one.
pub(crate) struct Options {
    entries: Vec<Entry>,
    missing: Vec<&'static str>,
}

impl Options {
    pub(crate) fn new(args: Args, errors: &mut Errors) -> Self {
        errors.absorb(args.errors);
        let mut entries: Vec<Entry> = Vec::new();
        for entry in args.entries {
            let name = entry.name.to_string();
            if example(&name).is_none() {
                errors.push(&entry.name, unknown(&name));
            } else if entries.iter().any(|earlier| earlier.name == name) {
                errors.push(&entry.name, format_args!("`{name}` is given twice"));
            } else {
                entries.push(entry);
            }
        }
        Self { entries, missing: Vec::new() }
    }

    /// The option `name` read by `read`, which reports what is wrong with it.
    pub(crate) fn optional<T>(
        &mut self,
        name: &'static str,
        errors: &mut Errors,
        read: impl FnOnce(Given, &mut Errors) -> Option<T>,
    ) -> Option<T> {
        let at = self.entries.iter().position(|entry| entry.name == name)?;
        let entry = self.entries.swap_remove(at);
        match entry.value {
            Value::Given(value) => read(Given { name: entry.name, value: peeled(value) }, errors),
            Value::Several(values) => {
                let list = values.iter().map(text).collect::<Vec<_>>().join(", ");
                errors.push(quote!(#(#values)*), format_args!("brackets are missing; write `{name} = [{list}]`"));
                None
            }
            Value::Absent => {
                let example = example(name).unwrap_or(name);
                errors.push(entry.name, format_args!("`{name}` needs a value, such as `{example}`"));
                None
            }
            Value::Unreadable => None,
        }
    }

    /// As [`optional`](Self::optional), for an option that must be there.
    pub(crate) fn required<T>(
        &mut self,
        name: &'static str,
        errors: &mut Errors,
        read: impl FnOnce(Given, &mut Errors) -> Option<T>,
    ) -> Option<T> {
        if !self.entries.iter().any(|entry| entry.name == name) {
            self.missing.push(name);
        }
        self.optional(name, errors, read)
    }

    /// Reports what is missing, in one message, and that every option in the table has been taken by somebody.
    pub(crate) fn finish(self, errors: &mut Errors) {
        debug_assert!(self.entries.is_empty(), "an option stands in the table, but the plan does not read it");
        if self.missing.is_empty() {
            return;
        }
        let names = suggest::list(self.missing.iter().copied(), "and");
        let (verb, it) = if self.missing.len() == 1 { ("is", "it") } else { ("are", "them") };
        let examples: Vec<&str> = self.missing.iter().filter_map(|name| example(name)).collect();
        let examples = examples.join(", ");
        errors.push_at(Span::call_site(), format_args!("{names} {verb} missing; give {it} as in `{examples}`"));
    }
}

fn example(name: &str) -> Option<&'static str> {
    OPTIONS.iter().find(|&&(option, _)| option == name).map(|&(_, example)| example)
}

fn unknown(name: &str) -> String {
    let names = || OPTIONS.iter().map(|&(name, _)| name);
    match suggest::nearest(name, names()) {
        Some(nearest) => format!("unknown option `{name}`; did you mean `{nearest}`?"),
        None => format!("unknown option `{name}`; the options are {}", suggest::list(names(), "and")),
    }
}

/// The expression without invisible delimiters (a macro by example has passed it on) and redundant parentheses.
pub(crate) fn peeled(value: Expr) -> Expr {
    match value {
        Expr::Group(ExprGroup { expr, .. }) | Expr::Paren(ExprParen { expr, .. }) => peeled(*expr),
        value => value,
    }
}

/// One of a few words.
pub(crate) fn choice<T: Copy>(choices: &[(&'static str, T)]) -> impl FnOnce(Given, &mut Errors) -> Option<T> {
    move |Given { name, value }, errors| {
        let (written, quoted) = match &value {
            Expr::Lit(ExprLit { lit: Lit::Str(word), .. }) => (word.value(), true),
            value => (text(value), false),
        };
        let words = || choices.iter().map(|&(word, _)| word);
        let chosen = choices.iter().find(|&&(word, _)| word == written);
        let message = match (chosen, suggest::nearest(&written, words())) {
            (Some(&(_, choice)), _) if !quoted => return Some(choice),
            (Some(_), _) => format!("`{name}` is a word, not a string; write `{name} = {written}`"),
            (None, Some(nearest)) => format!("`{name}` cannot be `{written}`; did you mean `{nearest}`?"),
            (None, None) => {
                let only = if choices.len() == 1 { "only " } else { "" };
                format!("`{name}` cannot be `{written}`; it can {only}be {}", suggest::list(words(), "or"))
            }
        };
        errors.push(value, message);
        None
    }
}

/// `prefix`: a string literal of characters that need no escaping in a key.
pub(crate) fn prefix(Given { value, .. }: Given, errors: &mut Errors) -> Option<LitStr> {
    let Expr::Lit(ExprLit { lit: Lit::Str(literal), .. }) = &value else {
        errors.push(value, "`prefix` is a string literal, such as `\"order:consume\"`");
        return None;
    };
    let prefix = literal.value();
    let wrong = prefix.chars().find(|&char| !(char.is_ascii_alphanumeric() || "_.:/-".contains(char)));
    match wrong {
        None if prefix.is_empty() => {
            errors.push(literal, "`prefix` is empty; name the business action, such as `\"order:consume\"`");
        }
        Some('{' | '}') => {
            errors.push(literal, "`prefix` is the same for every call; what differs goes into `keys`");
        }
        Some(char) => {
            let message =
                format!("`prefix` cannot contain {char:?}; it is made of letters, digits and `_` `.` `:` `/` `-`");
            errors.push(literal, message);
        }
        None => return Some(literal.clone()),
    }
    None
}

/// A function by its path, or a closure that captures nothing.
pub(crate) fn function(parameters: &[Ident]) -> impl FnOnce(Given, &mut Errors) -> Option<Given> {
    move |given, errors| {
        let name = &given.name;
        let message = match &given.value {
            Expr::Closure(closure) if captures(closure, parameters) => {
                format!("`{name}` cannot use the call's parameters: it takes a function of the error alone")
            }
            Expr::Path(_) | Expr::Closure(_) => return Some(given),
            Expr::Call(call) => {
                format!("`{name}` takes the function itself, not what it gives; write `{name} = {}`", text(&call.func))
            }
            Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) => {
                format!("`{name}` takes a path, not a string; write `{name} = {}`", path.value())
            }
            _ => format!("`{name}` takes the path of a function"),
        };
        errors.push(&given.value, message);
        None
    }
}

/// Whether the closure uses one of `parameters` that it does not shadow.
fn captures(closure: &ExprClosure, parameters: &[Ident]) -> bool {
    let mut own = Vec::new();
    closure.inputs.iter().for_each(|input| bindings(input, &mut own));
    let others: Vec<Ident> = parameters.iter().filter(|name| !own.contains(name)).cloned().collect();
    mentions(closure.body.to_token_stream(), &others)
}

/// `crate`: the path of the runtime crate.
pub(crate) fn crate_path(Given { value, .. }: Given, errors: &mut Errors) -> Option<Path> {
    match value {
        Expr::Path(syn::ExprPath { qself: None, path, .. }) => Some(path),
        Expr::Lit(ExprLit { lit: Lit::Str(literal), .. }) => {
            let path = literal.value();
            errors.push(literal, format_args!("`crate` is a path, not a string; write `crate = {path}`"));
            None
        }
        other => {
            errors.push(other, "`crate` takes the path of the runtime crate");
            None
        }
    }
}

/// Whether one of `names` stands somewhere in `tokens`.
pub(crate) fn mentions(tokens: TokenStream, names: &[Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        proc_macro2::TokenTree::Ident(ident) => names.contains(&ident),
        proc_macro2::TokenTree::Group(group) => mentions(group.stream(), names),
        _ => false,
    })
}
