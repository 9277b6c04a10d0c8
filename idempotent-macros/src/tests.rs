//! The whole way from text to text, in process.
//!
//! Each file in `snapshots/` is a function and what becomes of it. `UPDATE_SNAPSHOTS=1 cargo test -p idempotent-macros`
//! writes the second half anew; read it as a user of `cargo expand` would.

use std::path::Path;
use std::{env, fs};

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::{DeriveInput, ItemFn, Meta};

const EXPANDS_TO: &str = "\n// ---- expands to ----\n\n";

/// Expands the one function in `source`, whose first attribute is `#[idempotent(…)]`, or the one type, whose first is
/// `#[derive(KeyPart)]`.
fn expand(source: &str) -> TokenStream {
    if source.starts_with("#[derive(KeyPart)]") {
        let mut item: DeriveInput = syn::parse_str(source).expect("the source is a type");
        item.attrs.remove(0);
        return super::key_part::derive(item.into_token_stream());
    }
    let mut function: ItemFn = syn::parse_str(source).expect("the source is a function");
    let attribute = function.attrs.remove(0);
    let Meta::List(arguments) = attribute.meta else { panic!("the first attribute has arguments") };
    super::rewrite(arguments.tokens, function.into_token_stream())
}

fn pretty(tokens: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(tokens).expect("the expansion is a file"))
}

#[test]
fn every_kind_of_function_expands_as_its_snapshot_says() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/snapshots");
    let mut differing = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(&directory).expect("the snapshots are there") {
        let path = entry.expect("an entry").path();
        let snapshot = fs::read_to_string(&path).expect("text");
        let source = snapshot.split(EXPANDS_TO).next().unwrap_or_default();
        let current = format!("{source}{EXPANDS_TO}{}", pretty(expand(source)));
        count += 1;
        if current == snapshot {
            continue;
        }
        if env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&path, current).expect("the snapshot can be written");
        } else {
            differing.push(format!("{}\n\n{current}", path.display()));
        }
    }
    assert!(count > 0, "no snapshot was found");
    assert!(differing.is_empty(), "UPDATE_SNAPSHOTS=1 writes these anew:\n\n{}", differing.join("\n\n"));
}

/// What is reported about a function, in order.
fn refused(source: &str) -> Vec<String> {
    let mut function: ItemFn = syn::parse_str(source).expect("the source is a function");
    let arguments = match function.attrs.remove(0).meta {
        Meta::List(arguments) => arguments.tokens,
        _ => TokenStream::new(),
    };
    let args = super::args::Args::parse(arguments);
    let item = super::handler::Item::parse(function.into_token_stream());
    match super::plan::Plan::new(args, item) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().map(|error| error.to_string()).collect(),
    }
}

#[test]
fn every_mistake_is_reported_at_once() {
    let messages = refused(
        "#[idempotent(perfix = \"a\", keys = [orde.id, \"id\", order.a + order.b], ttl = 5min, lease = 30, on_duplicate = skipp)]
        async fn handler(order: Order) {}",
    );
    let starts = [
        "unknown option `perfix`",
        "no parameter is named `orde`",
        "a literal is the same",
        "an operator cannot stand in a key",
        "`min` is no unit",
        "`30` has no unit",
        "`on_duplicate` cannot be `skipp`",
        "`prefix` is missing",
        "an idempotent function must return a `Result`",
    ];
    assert_eq!(messages.len(), starts.len(), "{messages:#?}");
    for (message, start) in messages.iter().zip(starts) {
        assert!(message.starts_with(start), "{message}");
    }
}

#[test]
fn messages_are_lower_case_and_end_without_a_full_stop() {
    for message in refused("#[idempotent] fn handler() {}") {
        assert!(!message.ends_with('.') && !message.starts_with(|char: char| char.is_uppercase()), "{message}");
    }
}

#[test]
fn on_a_mistake_the_function_stays_as_it_was() {
    let function = "pub async fn handler(id: u64) -> Result<(), Error> { body.of(id).await }";
    let tokens: TokenStream = function.parse().expect("tokens");
    let expanded = super::rewrite(TokenStream::new(), tokens.clone()).to_string();
    let (before, after) = expanded.split_once(&tokens.to_string()).expect("the function is there");
    assert_eq!(before.trim(), "# [allow (unused_variables)]");
    assert!(after.trim_start().starts_with(":: core :: compile_error"), "{after}");
}

#[test]
fn the_body_is_not_parsed() {
    // Syntax that syn may not know yet must not matter.
    let body = "{ let x = some.new @ syntax => of tomorrow; }";
    let function: TokenStream =
        format!("async fn handler(id: u64) -> Result<(), Error> {body}").parse().expect("tokens");
    let arguments = "prefix = \"a\", keys = [id], ttl = 1h".parse().expect("tokens");
    assert!(!super::rewrite(arguments, function).to_string().contains("compile_error"));
}

#[test]
fn the_readme_shows_what_its_handler_becomes() {
    const MARK: &str = "<!-- expansion -->\n\n```rust\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = fs::read_to_string(&path).expect("the README is there");
    let block = |after: &str| {
        let (_, rest) = readme.split_once(after).unwrap_or_else(|| panic!("the README has {after:?}"));
        rest.split_once("```").expect("the block ends").0.to_owned()
    };
    let shown = block(MARK);
    let current = pretty(expand(&block("```rust\n")));
    if shown != current && env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let updated = readme.replace(&format!("{MARK}{shown}"), &format!("{MARK}{current}"));
        return fs::write(&path, updated).expect("the README can be written");
    }
    assert_eq!(shown, current, "UPDATE_SNAPSHOTS=1 writes it anew");
}
