//! The whole way from text to text, in process.
//!
//! Each file in `snapshots/` is a function and what becomes of it. `UPDATE_SNAPSHOTS=1 cargo test -p idempotent-macros`
//! writes the second half anew; read it as a user of `cargo expand` would.

use std::path::{Path, PathBuf};
use std::{env, fs};

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::{DeriveInput, ItemFn, Meta, Stmt};

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
fn the_readme_shows_what_the_handler_of_quickstart_becomes() {
    const MARK: &str = "<!-- expansion -->\n\n```rust\n";
    let readme = document("../README.md");
    let quickstart = document("../examples/examples/quickstart.rs");
    let handler = between(&quickstart, "#[idempotent(", "\n}\n");
    let shown = between(&readme, MARK, "```");
    // Its documentation stands above the attribute, where the macro does not see it; `cargo expand` shows both.
    let (above, _) = quickstart.split_once("#[idempotent(").expect("found just now");
    let documentation = above.lines().last().expect("it is documented");
    let expanded = without_registration(expand(&format!("#[idempotent({handler}\n}}")));
    let current = format!("{documentation}\n{}", pretty(expanded));
    if shown != current && env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let updated = readme.replace(&format!("{MARK}{shown}"), &format!("{MARK}{current}"));
        return fs::write(path("../README.md"), updated).expect("the README can be written");
    }
    assert_eq!(shown, current, "UPDATE_SNAPSHOTS=1 writes it anew");
}

/// `cargo expand` goes on to expand `register! { … }`, of which nothing is left without the feature `registry`.
fn without_registration(tokens: TokenStream) -> TokenStream {
    let mut function: ItemFn = syn::parse2(tokens).expect("the expansion is a function");
    let before = function.block.stmts.len();
    function.block.stmts.retain(|statement| match statement {
        Stmt::Macro(call) => call.mac.path.segments.last().is_none_or(|last| last.ident != "register"),
        _ => true,
    });
    assert_eq!(function.block.stmts.len(), before - 1, "a handler is registered once");
    function.into_token_stream()
}

#[test]
fn little_stands_before_the_body() {
    // Options that take more than a word add their lines.
    const WITH_SUCH_OPTIONS: [&str; 5] = ["every_option", "judged_errors", "per_call_durations", "questions", "within"];
    for entry in fs::read_dir(path("src/snapshots")).expect("the snapshots are there") {
        let path = entry.expect("an entry").path();
        let snapshot = fs::read_to_string(&path).expect("text");
        let lines = snapshot.lines().skip_while(|line| !line.contains("let call = "));
        // Up to the end of `if false { … }`, the first line that ends a block.
        let before_the_body = lines.take_while(|line| line.trim() != "}").count() + 1;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let short = before_the_body < 20 || WITH_SUCH_OPTIONS.contains(&&*name);
        assert!(short, "{name}: {before_the_body} lines stand before the body");
    }
}

#[test]
fn every_option_is_documented_once_and_in_one_order() {
    let names: Vec<&str> = super::options::OPTIONS.iter().map(|&(name, _)| name).collect();
    let readme = document("../README.md");
    let rows = between(&readme, "| option | form | default |\n|---|---|---|\n", "\n\n");
    let rows: Vec<&str> = rows.lines().filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(rows, names, "the table of the README");

    let guide = document("src/idempotent.md");
    let sections: Vec<&str> = guide.split("\n## `").skip(1).collect();
    let headings: Vec<&str> = sections.iter().map(|section| section.split([' ', '`']).next().unwrap_or("")).collect();
    assert_eq!(headings, names, "the guide");
    for (name, section) in names.iter().zip(sections) {
        let example = section.contains("\n```\n") && section.contains("#[idempotent(") && section.contains("main()");
        assert!(example, "the section on `{name}` has no example that runs");
    }
}

#[test]
fn the_crate_depends_on_three_crates() {
    let manifest = document("Cargo.toml");
    let dependencies = between(&manifest, "\n[dependencies]\n", "\n[");
    let names: Vec<&str> = dependencies.lines().filter_map(|line| line.split(['.', ' ']).next()).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty() && !name.starts_with('#')).collect();
    assert_eq!(names, ["proc-macro2", "quote", "syn"]);
}

#[test]
fn the_map_names_every_file() {
    let map = document("../ARCHITECTURE.md");
    for entry in fs::read_dir(path("src")).expect("the sources are there") {
        let path = entry.expect("an entry").path();
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let named = map.contains(&format!("`{name}`"));
        assert!(named || !is_source || ["lib", "tests"].contains(&name.as_str()), "ARCHITECTURE.md has no `{name}`");
    }
}

fn path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

fn document(relative: &str) -> String {
    fs::read_to_string(path(relative)).unwrap_or_else(|error| panic!("{relative}: {error}"))
}

/// What stands between the first `before` and the next `after`.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("there is no {before:?}"));
    rest.split_once(after).unwrap_or_else(|| panic!("there is no {after:?} after {before:?}")).0
}
