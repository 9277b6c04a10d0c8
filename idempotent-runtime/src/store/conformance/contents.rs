//! What a record holds comes back as it was written.

use super::trial::{LONG, Trial, call, value};
use crate::record::{CodecTag, Encoded, NoResult, Recorded};
use crate::store::{Found, Retention};
use crate::token::Token;

/// Completes with `result`, and finds it.
async fn comes_back(t: &Trial<'_>, name: &str, result: Recorded) {
    let t = t.under(t.key_like(name));
    let a = call("A").fingerprint(u128::MAX);
    t.claim(a).await.acquired(1, Found::Absent);
    t.complete_with(a, &result, Retention::For(LONG)).await.held();
    let record = a.completed(1, result);
    t.claim(call("B")).await.completed(&record);
    t.claim(a).await.completed(&record);
    t.complete(call("B")).await.lost_to(&record);
}

pub(super) async fn every_kind_of_result_comes_back(t: &Trial<'_>) {
    let encoded = |codec| Encoded { codec, bytes: b"{\"a\":1}".as_slice().into() };
    comes_back(t, "value", Recorded::Value(encoded(CodecTag::JSON))).await;
    comes_back(t, "codec", Recorded::Value(encoded(CodecTag::new("packed12")))).await;
    comes_back(t, "error", Recorded::Error(encoded(CodecTag::JSON))).await;
    comes_back(t, "rejected", Recorded::Rejected("card declined: \"no\n funds\" – ✗".into())).await;
    comes_back(t, "rejected-empty", Recorded::Rejected("".into())).await;
    comes_back(t, "not-wanted", Recorded::Nothing(NoResult::NotWanted)).await;
    comes_back(t, "too-large", Recorded::Nothing(NoResult::TooLarge)).await;
    comes_back(t, "not-serialisable", Recorded::Nothing(NoResult::NotSerialisable)).await;
}

pub(super) async fn an_empty_result_is_a_result(t: &Trial<'_>) {
    comes_back(t, "value", value(b"")).await;
    comes_back(t, "error", Recorded::Error(Encoded { codec: CodecTag::JSON, bytes: [].into() })).await;
}

pub(super) async fn falsy_results_are_results(t: &Trial<'_>) {
    for (name, bytes) in ["0", "false", "\"\"", "[]", "{}", "null"].iter().enumerate() {
        comes_back(t, &name.to_string(), value(bytes.as_bytes())).await;
    }
}

pub(super) async fn every_byte_of_a_result_comes_back(t: &Trial<'_>) {
    let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
    comes_back(t, "all", value(&all)).await;
    for (name, bytes) in [b"\0".as_slice(), b"\r\n", b" ", b"\xff\xfe", b"|:;,", b"\n\n"].iter().enumerate() {
        comes_back(t, &name.to_string(), value(bytes)).await;
    }
}

pub(super) async fn a_large_result_comes_back(t: &Trial<'_>) {
    let large: Vec<u8> = (0..1_u32 << 20).map(|at| at.to_le_bytes()[at as usize % 4]).collect();
    comes_back(t, "large", value(&large)).await;
}

pub(super) async fn every_fingerprint_comes_back(t: &Trial<'_>) {
    for digest in [0, 1, u128::from(u64::MAX), u128::MAX - 1, u128::MAX] {
        let t = t.under(t.key_like(&digest.to_string()));
        let (_, record) = t.completed_as(call("A").fingerprint(digest)).await;
        t.claim(call("B").fingerprint(digest)).await.completed(&record);
        t.claim(call("B").fingerprint(digest ^ 1)).await.mismatch();
    }
}

pub(super) async fn every_token_comes_back(t: &Trial<'_>) {
    for value in [0, 1, 1 << 64, u128::MAX] {
        let t = t.under(t.key_like(&value.to_string()));
        let mut a = call("A");
        a.0.token = Token::from_u128(value);
        let (a, record) = t.completed_as(a).await;
        t.claim(a).await.completed(&record);
        t.claim(call("B").supersede(&record)).await.acquired(2, Found::Completed);
    }
}

pub(super) async fn the_owner_is_shown(t: &Trial<'_>) {
    let longest = "a-host.with-a-long-name.example:4294967295/0123456789abcdef!#$~+";
    assert_eq!(longest.len(), 64);
    for owner in [longest, "x", "{:|\"'\\}%"] {
        let t = t.under(t.key_like("owner"));
        let a = call(owner);
        t.claim(a).await.acquired(1, Found::Absent);
        t.claim(call("B")).await.in_progress(1, owner);
        t.give_up(a).await.held();
        t.claim(call("B").hold()).await.abandoned(1, owner);
    }
}

pub(super) async fn the_last_error_is_kept(t: &Trial<'_>) {
    let a = t.failed().await;
    t.shows_error("burnt").await;
    t.release(a, "another text").await.held();
    t.shows_error("burnt").await;
    for error in ["", "two\nlines \"quoted\" – ✗ \\ {}", &"long ".repeat(200)] {
        let b = call("B");
        assert!(matches!(t.claim(b).await.0, crate::store::ClaimAnswer::Acquired(_)));
        t.release(b, error).await.held();
        t.shows_error(error).await;
    }
}

pub(super) async fn keys_of_every_shape_are_kept_apart(t: &Trial<'_>) {
    let tails = [
        "a", "A", "a ", " a", "a:", "a::b", "a%3Ab", "%~0", "é", "e\u{301}", "漢字", "{a}", "{a", "a*", "a?", "[a]",
        "a\"b", "a'b", "a\\b", "a$b", "a;b", "a--b", "a|b", "a/b", "a.b", "0", "00",
    ];
    let at = |tail: &str| t.under(t.key_ending(tail));
    for tail in tails {
        at(tail).claim(call("A")).await.acquired(1, Found::Absent);
    }
    for tail in tails {
        at(tail).look().await.in_progress(1, "A");
    }
}

pub(super) async fn long_keys_are_kept_apart(t: &Trial<'_>) {
    let long = "k".repeat(400);
    let [one, two] = ["1", "2"].map(|end| t.under(t.key_ending(&format!("{long}{end}"))));
    let (a, record) = one.completed().await;
    two.claim(call("B")).await.acquired(1, Found::Absent);
    one.claim(a).await.completed(&record);
}
