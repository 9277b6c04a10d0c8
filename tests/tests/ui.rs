//! Every mistake is a good conversation: one rule a file, and a control that is accepted for each.
//!
//! `TRYBUILD=overwrite cargo test -p tests --test ui` writes the messages anew: read every one of them.

#[test]
fn mistakes_are_explained_where_they_were_made() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}
