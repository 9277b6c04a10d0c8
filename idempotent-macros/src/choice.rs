//! Options that are a word: one of a few, each with its meaning.

use syn::{Expr, ExprCall, ExprLit, Ident, Lit};

use crate::errors::Errors;
use crate::options::{Given, peeled};
use crate::paths;
use crate::suggest;
use crate::text::text;
use crate::time::{self, Time};

/// An option of a few words. Each word is a variant of the runtime's type of the same name; the first is the default.
pub(crate) trait Words: Copy + PartialEq + Default + 'static {
    /// The runtime's type.
    const TYPE: &'static str;
    /// Each word with its variant, and the variant's name.
    const WORDS: &'static [(&'static str, Self, &'static str)];

    /// The variant's name; `None` for the default, which need not be said.
    fn variant(self) -> Option<&'static str> {
        let chosen = Self::WORDS.iter().find(|&&(_, choice, _)| choice == self && choice != Self::default());
        chosen.map(|&(.., variant)| variant)
    }
}

macro_rules! words {
    ($($name:ident { $default:ident $default_word:literal $(, $variant:ident $word:literal)* })*) => {$(
        #[derive(Clone, Copy, PartialEq, Default)]
        pub(crate) enum $name {
            #[default]
            $default,
            $($variant,)*
        }

        impl Words for $name {
            const TYPE: &'static str = stringify!($name);
            const WORDS: &'static [(&'static str, Self, &'static str)] = &[
                ($default_word, Self::$default, stringify!($default)),
                $(($word, Self::$variant, stringify!($variant)),)*
            ];
        }
    )*};
}

words! {
    OnDuplicate { Replay "replay", Skip "skip", Reject "reject" }
    OnCrash { Rerun "rerun", Hold "hold" }
    OnOutage { Reject "reject", Run "run" }
    OnLost { Cancel "cancel", Strict "strict", Finish "finish" }
}

#[derive(Default)]
pub(crate) enum OnBusy {
    #[default]
    Reject,
    Wait(Time),
}

impl OnBusy {
    pub(crate) fn patience(&self) -> Option<&Time> {
        match self {
            Self::Wait(time) => Some(time),
            Self::Reject => None,
        }
    }
}

#[derive(Default)]
pub(crate) enum OnError {
    #[default]
    Release,
    Record,
    /// By a function of the error.
    Judge(Given),
}

/// One of a few words.
pub(crate) fn choice<W: Words>(given: Given, errors: &mut Errors) -> Option<W> {
    let written = text(&given.value);
    if let Some(&(_, choice, _)) = W::WORDS.iter().find(|&&(word, ..)| word == written) {
        return Some(choice);
    }
    let words: Vec<&str> = W::WORDS.iter().map(|&(word, ..)| word).collect();
    let message = no_word(&given, &words);
    errors.push(given.value, message);
    None
}

/// `on_busy`: `reject`, or `wait` and how long.
pub(crate) fn on_busy(given: Given, errors: &mut Errors) -> Option<OnBusy> {
    let (word, arguments) = match &given.value {
        Expr::Call(ExprCall { func, args, .. }) => (text(func), Some(args)),
        value => (text(value), None),
    };
    let message = match (word.as_str(), arguments) {
        ("reject", None) => return Some(OnBusy::Reject),
        ("wait", Some(arguments)) if arguments.len() == 1 => return wait(given.value, errors),
        ("wait", _) => "`wait` takes one duration; write `on_busy = wait(5s)`".to_owned(),
        ("reject", Some(_)) => "`reject` takes nothing; write `on_busy = reject`".to_owned(),
        _ if is_duration(&given.value) => format!("`on_busy` says what to do; to wait, write `on_busy = wait({word})`"),
        _ => no_word(&given, &["reject", "wait(5s)"]),
    };
    errors.push(given.value, message);
    None
}

/// `wait(5s)`. The duration goes by the name `wait`, the user's own.
fn wait(call: Expr, errors: &mut Errors) -> Option<OnBusy> {
    let Expr::Call(ExprCall { func, mut args, .. }) = call else { return None };
    let Expr::Path(path) = peeled(*func) else { return None };
    let name = path.path.get_ident()?.clone();
    let value = peeled(args.pop()?);
    time::time(time::WAIT)(Given { name, value }, errors).map(OnBusy::Wait)
}

fn is_duration(value: &Expr) -> bool {
    matches!(value, Expr::Lit(ExprLit { lit: Lit::Int(_) | Lit::Float(_), .. }))
}

/// `on_error`: a word, or a function of the error.
pub(crate) fn on_error(parameters: &[Ident]) -> impl FnOnce(Given, &mut Errors) -> Option<OnError> {
    const WORDS: &[&str] = &["release", "record"];
    // What people try, and what can hardly be the name of a function that judges.
    const TRIED: &[&str] = &["retry", "rerun", "reject", "ignore", "skip", "fail", "hold", "keep"];
    move |given, errors| {
        let (written, quoted) = written(&given.value);
        let nearest = suggest::nearest(&written, WORDS.iter().copied());
        let message = match (written.as_str(), nearest) {
            ("release", _) if !quoted => return Some(OnError::Release),
            ("record", _) if !quoted => return Some(OnError::Record),
            (_, Some(word)) if written == word => no_word(&given, WORDS),
            (_, Some(word)) => {
                format!("`on_error` cannot be `{written}`; did you mean `{word}`? a function is `self::{written}`")
            }
            (word, None) if TRIED.contains(&word) || !could_be_function(&given.value) => {
                format!("`on_error` cannot be `{written}`; it can be `release`, `record` or the path of a function")
            }
            (_, None) => return paths::function(parameters)(given, errors).map(OnError::Judge),
        };
        errors.push(given.value, message);
        None
    }
}

/// Whether it is a function, or is meant as one.
fn could_be_function(value: &Expr) -> bool {
    match value {
        Expr::Lit(literal) => matches!(literal.lit, Lit::Str(_)),
        Expr::Path(_) | Expr::Closure(_) | Expr::Call(_) => true,
        _ => false,
    }
}

/// Why the value is none of `words`, and what is.
fn no_word(Given { name, value }: &Given, words: &[&str]) -> String {
    let (written, quoted) = written(value);
    let nearest = suggest::nearest(&written, words.iter().copied());
    match nearest {
        Some(word) if quoted && word == written => {
            format!("`{name}` is a word, not a string; write `{name} = {written}`")
        }
        Some(word) => format!("`{name}` cannot be `{written}`; did you mean `{word}`?"),
        None => {
            format!("`{name}` cannot be `{written}`; it can be {}", suggest::list(words.iter().copied(), "or"))
        }
    }
}

/// What was meant as a word, and whether it stands in quotes.
fn written(value: &Expr) -> (String, bool) {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(word), .. }) => (word.value(), true),
        value => (text(value), false),
    }
}
