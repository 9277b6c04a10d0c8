//! The conformance table in the guide names the tests that there are, and all of them.

use std::collections::BTreeSet;

const GUIDE: &str = include_str!("../../../idempotent-runtime/src/guide/http.md");

const TESTS: [&str; 7] = [
    include_str!("applies.rs"),
    include_str!("client.rs"),
    include_str!("identity.rs"),
    include_str!("life.rs"),
    include_str!("nested.rs"),
    include_str!("outcomes.rs"),
    include_str!("stored.rs"),
];

const SYNTAX: &str = include_str!("syntax.rs");

/// All names that begin so, up to the end of a word.
fn names<'a>(text: &'a str, before: &str) -> BTreeSet<&'a str> {
    let word = |from: &'a str| {
        let end = from.find(|char: char| !(char.is_ascii_alphanumeric() || char == '_')).unwrap_or(from.len());
        &from[..end]
    };
    text.match_indices(before).map(|(at, _)| word(&text[at + before.len() - "point_".len()..])).collect()
}

#[test]
fn the_table_names_every_test_and_no_other() {
    let tests: BTreeSet<_> =
        TESTS.into_iter().chain([SYNTAX]).flat_map(|file| names(file, "async fn point_")).collect();
    assert_eq!(names(GUIDE, "`point_"), tests);
}

#[test]
fn every_point_has_a_test_in_the_row_of_its_number() {
    for point in 1..=42 {
        let row = GUIDE.lines().find(|line| line.starts_with(&format!("| {point} | ")));
        let row = row.unwrap_or_else(|| panic!("no row {point}"));
        let named = names(row, "`point_");
        assert!(!named.is_empty(), "{row}");
        assert!(named.iter().all(|name| name.starts_with(&format!("point_{point:02}_"))), "{row}");
    }
}

#[test]
fn every_problem_is_described_where_its_type_leads() {
    for problem in idempotent_runtime::http::Problem::ALL {
        assert!(GUIDE.contains(&format!("\n## {}\n{}", problem.name(), problem.status().as_u16())), "{problem:?}");
    }
}
