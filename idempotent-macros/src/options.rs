//! The options as a table: which there are, that none is unknown or given twice, and the plain kinds of value.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Expr, ExprGroup, ExprLit, ExprParen, Ident, Lit, LitBool, LitStr};

use crate::args::{Args, Entry, Value};
use crate::errors::Errors;
use crate::suggest;
use crate::text::text;

/// Every option with an example of its use, for messages. A new option starts here.
pub(crate) const OPTIONS: &[(&str, &str)] = &[
    ("prefix", "prefix = \"order:consume\""),
    ("keys", "keys = [message.order_id]"),
    ("ttl", "ttl = 24h"),
    ("lease", "lease = 30s"),
    ("step", "step = \"init_token\""),
    ("fingerprint", "fingerprint = [message.amount]"),
    ("on_duplicate", "on_duplicate = replay"),
    ("on_busy", "on_busy = reject"),
    ("on_error", "on_error = release"),
    ("on_crash", "on_crash = rerun"),
    ("on_outage", "on_outage = reject"),
    ("on_lost", "on_lost = cancel"),
    ("max_attempts", "max_attempts = 5"),
    ("timeout", "timeout = 1m"),
    ("existing", "existing = self.find(order.id)"),
    ("verify", "verify = self.has(order.id)"),
    ("within", "within = tx"),
    ("fenced", "fenced"),
    ("hidden", "hidden"),
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
    /// All names, as they were written.
    names: Vec<Ident>,
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
        let names = entries.iter().map(|entry| entry.name.clone()).collect();
        Self { entries, names, missing: Vec::new() }
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
            Value::Absent | Value::Empty => {
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

    /// Whether the flag `name` is there.
    pub(crate) fn flag(&mut self, name: &'static str, errors: &mut Errors) -> bool {
        let Some(at) = self.entries.iter().position(|entry| entry.name == name) else { return false };
        let entry = self.entries.swap_remove(at);
        let instead = match &entry.value {
            Value::Absent => return true,
            Value::Unreadable => return false,
            Value::Given(Expr::Lit(ExprLit { lit: Lit::Bool(LitBool { value: false, .. }), .. })) => {
                "leave it out".to_owned()
            }
            Value::Given(_) | Value::Several(_) | Value::Empty => format!("write `{name}` without a value"),
        };
        let message = format!("`{name}` is a flag; {instead}");
        match entry.value {
            Value::Given(value) => errors.push(value, message),
            _ => errors.push(entry.name, message),
        }
        false
    }

    /// Reports that two options cannot stand together, at the one that was written later.
    pub(crate) fn contradict(&self, pair: [&str; 2], message: &str, errors: &mut Errors) {
        if let Some(later) = self.names.iter().rfind(|name| pair.iter().any(|option| *name == option)) {
            errors.push(later, message);
        }
    }

    /// Whether the option `name` was given, right or wrong.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|given| given == name)
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

/// `prefix` and `step`: a string literal of characters that need no escaping in a key.
pub(crate) fn name(Given { name, value }: Given, errors: &mut Errors) -> Option<LitStr> {
    let (names, example) = if name == "step" { ("step", "init_token") } else { ("business action", "order:consume") };
    let Expr::Lit(ExprLit { lit: Lit::Str(literal), .. }) = &value else {
        errors.push(value, format_args!("`{name}` is a string literal, such as `\"{example}\"`"));
        return None;
    };
    let text = literal.value();
    let wrong = text.chars().find(|&char| !(char.is_ascii_alphanumeric() || "_.:/-".contains(char)));
    match wrong {
        None if text.is_empty() => {
            errors.push(literal, format_args!("`{name}` is empty; name the {names}, such as `\"{example}\"`"));
        }
        Some('{' | '}') => {
            errors.push(literal, format_args!("`{name}` is the same for every call; what differs goes into `keys`"));
        }
        Some(char) => {
            let message =
                format!("`{name}` cannot contain {char:?}; it is made of letters, digits and `_` `.` `:` `/` `-`");
            errors.push(literal, message);
        }
        None => return Some(literal.clone()),
    }
    None
}

/// Whether one of `names` stands somewhere in `tokens`.
pub(crate) fn mentions(tokens: TokenStream, names: &[Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        proc_macro2::TokenTree::Ident(ident) => names.contains(&ident),
        proc_macro2::TokenTree::Group(group) => mentions(group.stream(), names),
        _ => false,
    })
}
