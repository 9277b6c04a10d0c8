//! The conformance table in the guide names the tests that there are, and all of them.

use std::collections::BTreeSet;

const GUIDE: &str = include_str!("../../../idempotent-runtime/src/guide/http.md");

const TESTS: [&str; 8] = [
    include_str!("applies.rs"),
    include_str!("client.rs"),
    include_str!("identity.rs"),
    include_str!("life.rs"),
    include_str!("nested.rs"),
    include_str!("outcomes.rs"),
    include_str!("stored.rs"),
    include_str!("wire.rs"),
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
fn every_case_runs_both_ways_or_says_why_not() {
    // The client's half is about sockets alone.
    let files = TESTS.into_iter().chain([SYNTAX]).filter(|file| !file.starts_with("//! Point 42"));
    for file in files {
        let cases: Vec<_> = file.match_indices("async fn point_").map(|(at, _)| at).collect();
        let listed = file.split_once("both![").map_or("", |(_, list)| list.split(']').next().unwrap_or_default());
        for at in cases {
            let (before, case) = file.split_at(at);
            let name = case["async fn ".len()..].split('(').next().expect("a name");
            if case[..case.find('\n').expect("a line")].contains("via: Via") {
                assert!(listed.contains(&format!("    {name},")), "{name} is in no list, and does not run");
            } else {
                let why = before.lines().rev().find(|line| !line.starts_with("#[")).expect("a line above");
                let says = ["// By oneshot alone: ", "// On a socket alone: ", "// By no request: "];
                assert!(
                    says.iter().any(|says| why.starts_with(says)),
                    "{name} does not say why it runs one way: {why}"
                );
            }
        }
    }
}

#[test]
fn every_row_of_the_draft_names_tests_of_the_points_that_it_says() {
    let (_, table) = GUIDE.split_once("| section of the draft |").expect("a table");
    let rows: Vec<_> = table.lines().skip(2).take_while(|line| line.starts_with("| ")).collect();
    assert!(rows.len() > 15, "{rows:?}");
    for row in rows {
        assert!(!names(row, "`point_").is_empty(), "{row}");
    }
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
