//! The annotated handlers of this program, and whether two of them get in each other's way.
//!
//! A prefix names an action, and with a `step` one step of it. Two handlers under one name share their records: a call of
//! one is answered with the other's result. No compiler sees that, since they may stand in two crates. With this feature
//! every annotated handler that is linked into the program is known when it starts, whether it was called or not:
//!
//! ```standalone_crate
//! use idempotent_runtime::{Error, idempotent, registry};
//!
//! #[idempotent(prefix = "order:consume", keys = [order, activity], ttl = 24h)]
//! async fn consume(order: u64, activity: &str) -> Result<u64, Error> {
//!     Ok(order)
//! }
//!
//! # fn main() {
//! let handler = registry::handlers().find(|handler| handler.prefix() == "order:consume").expect("it is annotated");
//! assert_eq!((handler.keys(), handler.ttl()), (&["order", "activity"][..], "24h"));
//! assert_eq!(handler.function(), "consume");
//! println!("{handler}"); // order:consume [order, activity] for 24h: `consume` of orders at src/main.rs:3
//!
//! assert!(registry::check().is_empty()); // no other handler is under this prefix
//! # }
//! ```
//!
//! What [`check`] finds is also said in the log, at warn, when the first handle of the process is made, and is among what
//! [`Idempotency::check`](crate::Idempotency::check) gives. A program that would rather not start asks [`check`] itself,
//! in `main` or in a test. Nothing else changes: handlers that share a prefix go on sharing it.
//!
//! Actions that are called by name ([`Idempotency::call`](crate::Idempotency::call)) are not listed: their prefixes are
//! known only when they are called.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Once;

use crate::admin::{Concern, Severity};

/// One annotated handler. It is listed once, also where it is generic.
#[derive(Clone, Copy, Debug)]
pub struct Handler {
    prefix: &'static str,
    step: Option<&'static str>,
    keys: &'static [&'static str],
    ttl: &'static str,
    function: &'static str,
    module: &'static str,
    file: &'static str,
    line: u32,
}

inventory::collect!(Handler);

impl Handler {
    /// For expanded code.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(prefix: &'static str, keys: &'static [&'static str], ttl: &'static str) -> Self {
        Self { prefix, step: None, keys, ttl, function: "", module: "", file: "", line: 0 }
    }

    /// For expanded code.
    #[doc(hidden)]
    #[must_use]
    pub const fn at(self, function: &'static str, module: &'static str, file: &'static str, line: u32) -> Self {
        Self { function, module, file, line, ..self }
    }

    /// For expanded code.
    #[doc(hidden)]
    #[must_use]
    pub const fn of_step(self, step: &'static str) -> Self {
        Self { step: Some(step), ..self }
    }

    /// `prefix`, without the namespace of a handle.
    #[must_use]
    pub fn prefix(&self) -> &'static str {
        self.prefix
    }

    /// `step`, if it is one.
    #[must_use]
    pub fn step(&self) -> Option<&'static str> {
        self.step
    }

    /// The expressions of `keys`, as they are written.
    #[must_use]
    pub fn keys(&self) -> &'static [&'static str] {
        self.keys
    }

    /// `ttl`, as it is written: `24h`, `forever`, `self.ttl`.
    #[must_use]
    pub fn ttl(&self) -> &'static str {
        self.ttl
    }

    /// The function's name, without its type where it is a method.
    #[must_use]
    pub fn function(&self) -> &'static str {
        self.function
    }

    /// The path of the module that it stands in, beginning with the crate.
    #[must_use]
    pub fn module(&self) -> &'static str {
        self.module
    }

    /// The source file, as the compiler was told of it.
    #[must_use]
    pub fn file(&self) -> &'static str {
        self.file
    }

    /// The line of the attribute, or of the macro that wrote it.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }

    fn place(&self) -> Place<'_> {
        Place(self)
    }
}

/// On one line: what it is, and where it stands.
impl fmt::Display for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prefix, keys, ttl, .. } = self;
        match self.step {
            Some(step) => write!(f, "{prefix}[{step}]")?,
            None => f.write_str(prefix)?,
        }
        write!(f, " [{}] for {ttl}: {}", keys.join(", "), self.place())
    }
}

/// Where a handler stands.
struct Place<'a>(&'a Handler);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Handler { function, module, file, line, .. } = self.0;
        write!(f, "`{function}` of {module} at {file}:{line}")
    }
}

/// All annotated handlers of this program: by prefix, and then by place.
///
/// ```
/// for handler in idempotent_runtime::registry::handlers() {
///     println!("{handler}");
/// }
/// ```
pub fn handlers() -> impl Iterator<Item = &'static Handler> {
    let mut handlers: Vec<&Handler> = inventory::iter::<Handler>().collect();
    handlers.sort_unstable_by_key(|it| (it.prefix, it.step, it.module, it.file, it.line, it.function));
    handlers.into_iter()
}

/// The handlers that share their records: those of one prefix and one step; and those of one prefix of which some are steps
/// and some are not, since a step is a field of the entity that its prefix and keys name, and nothing else can stand there.
///
/// ```standalone_crate
/// use idempotent_runtime::registry;
///
/// let shared = registry::check();
/// assert!(shared.is_empty(), "{shared:#?}"); // as a test of a program
/// ```
#[must_use]
pub fn check() -> Vec<Concern> {
    shared(handlers())
}

fn shared(handlers: impl Iterator<Item = &'static Handler>) -> Vec<Concern> {
    let mut prefixes: BTreeMap<&str, BTreeMap<Option<&str>, Vec<&Handler>>> = BTreeMap::new();
    for handler in handlers {
        prefixes.entry(handler.prefix).or_default().entry(handler.step).or_default().push(handler);
    }
    prefixes.into_iter().flat_map(|(prefix, steps)| under(prefix, &steps)).collect()
}

/// What is wrong with the handlers under one prefix.
fn under(prefix: &str, steps: &BTreeMap<Option<&str>, Vec<&'static Handler>>) -> Vec<Concern> {
    let same = steps.iter().filter(|(_, handlers)| handlers.len() > 1).map(|(step, handlers)| {
        let name = step.map_or(format!("prefix `{prefix}`"), |step| format!("prefix `{prefix}` and step `{step}`"));
        let what = format!("{} handlers share the {name}: {}", handlers.len(), places(handlers));
        Concern::new(Severity::Serious, what, "a call of one is answered with the other's result: give each its own")
    });
    let mixed = (steps.len() > 1 && steps.contains_key(&None)).then(|| {
        let what =
            format!("under the prefix `{prefix}` some handlers are steps and some are not: {}", places_of(steps));
        Concern::new(Severity::Serious, what, "their records cannot stand under one key: give them two prefixes")
    });
    same.chain(mixed).collect()
}

fn places_of(steps: &BTreeMap<Option<&str>, Vec<&'static Handler>>) -> String {
    places(&steps.values().flatten().copied().collect::<Vec<_>>())
}

fn places(handlers: &[&Handler]) -> String {
    handlers.iter().map(|handler| handler.place().to_string()).collect::<Vec<_>>().join(", ")
}

/// Says once in a process what [`check`] finds.
pub(crate) fn warn() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| check().iter().for_each(crate::observe::shared_prefix));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(handlers: &'static [Handler]) -> Vec<String> {
        shared(handlers.iter()).iter().map(|concern| concern.what.to_string()).collect()
    }

    const fn handler(prefix: &'static str, line: u32) -> Handler {
        Handler::new(prefix, &["id"], "1h").at("handle", "shop", "src/shop.rs", line)
    }

    #[test]
    fn two_of_one_prefix_are_told_with_both_places() {
        static HANDLERS: [Handler; 3] = [handler("a", 1), handler("b", 2), handler("a", 3)];
        assert_eq!(
            found(&HANDLERS),
            ["2 handlers share the prefix `a`: `handle` of shop at src/shop.rs:1, `handle` of shop at src/shop.rs:3"]
        );
    }

    #[test]
    fn steps_of_one_prefix_are_apart() {
        static APART: [Handler; 2] = [handler("a", 1).of_step("x"), handler("a", 2).of_step("y")];
        static SAME: [Handler; 2] = [handler("a", 1).of_step("x"), handler("a", 2).of_step("x")];
        assert_eq!(found(&APART), [""; 0]);
        assert_eq!(found(&SAME).len(), 1);
        assert!(found(&SAME)[0].starts_with("2 handlers share the prefix `a` and step `x`: "), "{:?}", found(&SAME));
    }

    #[test]
    fn a_step_and_a_whole_key_are_told() {
        static MIXED: [Handler; 2] = [handler("a", 1), handler("a", 2).of_step("x")];
        let found = found(&MIXED);
        assert!(
            found.len() == 1 && found[0].contains("some are not: `handle` of shop at src/shop.rs:1, "),
            "{found:?}"
        );
    }
}
