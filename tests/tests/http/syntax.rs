//! Points 1 to 7: what a key looks like.

use axum::http::Method;
use idempotent_runtime::Idempotency;

use crate::support::{Ask, Runs, Via, both, layer, payments, record, scoped};

both![
    point_01_the_value_is_a_structured_field_string,
    point_02_what_is_no_string_is_refused_and_nothing_runs,
    point_03_two_keys_are_none,
    point_04_parameters_are_parsed_and_ignored,
    point_05_a_bare_key_is_the_same_key,
    point_06_length_and_characters_are_bounded,
    point_07_case_and_spaces_matter_inside_quotes,
];

/// Sends each field once; what it is answered with, and how many ran.
async fn answers(via: Via, strict: bool, fields: &[&str]) -> (Vec<u16>, u32) {
    let (runs, builder) = (Runs::default(), scoped(&Idempotency::memory()));
    let builder = if strict { builder.strict() } else { builder };
    let shop = via.shop(payments(&runs).layer(builder.build().unwrap())).await;
    let mut statuses = Vec::new();
    for field in fields {
        statuses.push(Ask::new(Method::POST, "/payments").key(field).to(&shop).await.status);
    }
    (statuses, runs.count())
}

async fn point_01_the_value_is_a_structured_field_string(via: Via) {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let layer = scoped(&idempotency).strict().build().unwrap();
    let shop = via.shop(payments(&runs).layer(layer.clone())).await;
    for (field, key) in [(r#""abc""#, "abc"), (r#""a\"b\\c""#, r#"a"b\c"#), (r#"  "led"  "#, "led")] {
        assert_eq!(Ask::new(Method::POST, "/payments").key(field).to(&shop).await.status, 201, "{field}");
        assert!(record(&idempotency, &layer, key).await.is_some(), "{field} is {key}");
        assert!(Ask::new(Method::POST, "/payments").key(field).to(&shop).await.is_replay(), "{field}");
    }
    assert_eq!(runs.count(), 3);
}

async fn point_02_what_is_no_string_is_refused_and_nothing_runs(via: Via) {
    let wrong = [
        "\"é\"", "\"a\tb\"", "\"abc", "abc\"", "abc", "12", ":YWJj:", "?1", "\"a\\b\"", "(\"a\")", "\"a\";;", "\"a\" b",
    ];
    assert_eq!(answers(via, true, &wrong).await, (vec![400; wrong.len()], 0));
    // Lenient, only what could not be a bare key either.
    let wrong = ["\"é\"", "é", "\"abc", "abc\"", "a b", "a\tb", "\"a\" b", "a;b", "a\\b"];
    assert_eq!(answers(via, false, &wrong).await, (vec![400; wrong.len()], 0));
    assert_eq!(answers(via, true, &["\"abc\""]).await, (vec![201], 1), "the control");
}

async fn point_03_two_keys_are_none(via: Via) {
    for strict in [true, false] {
        assert_eq!(answers(via, strict, &["\"a\", \"b\"", "a, b", "a,b"]).await, (vec![400; 3], 0));
    }
    let runs = Runs::default();
    let shop = via.shop(payments(&runs).layer(layer())).await;
    for (first, second) in [("\"a\"", "\"b\""), ("\"a\"", "\"a\""), ("a", "a")] {
        let twice = Ask::new(Method::POST, "/payments").key(first).another("idempotency-key", second);
        assert_eq!(twice.to(&shop).await.problem(), "key-invalid");
    }
    assert_eq!(runs.count(), 0);
    assert_eq!(Ask::new(Method::POST, "/payments").key("\"a\"").to(&shop).await.status, 201, "the control: one line");
}

async fn point_04_parameters_are_parsed_and_ignored(via: Via) {
    let runs = Runs::default();
    let shop = via.shop(payments(&runs).layer(layer())).await;
    assert_eq!(Ask::pay("abc").to(&shop).await.status, 201);
    for field in ["\"abc\";a=1", "\"abc\"; b", "\"abc\";a=\"x\";a=?0"] {
        assert!(Ask::new(Method::POST, "/payments").key(field).to(&shop).await.is_replay(), "{field}");
    }
    assert_eq!(Ask::new(Method::POST, "/payments").key("\"abc\";A=1").to(&shop).await.status, 400);
    assert_eq!(runs.count(), 1);
}

async fn point_05_a_bare_key_is_the_same_key(via: Via) {
    let runs = Runs::default();
    let shop = via.shop(payments(&runs).layer(layer())).await;
    assert_eq!(Ask::pay("8e03978e-40d5").to(&shop).await.status, 201);
    assert!(Ask::new(Method::POST, "/payments").key("8e03978e-40d5").to(&shop).await.is_replay());
    assert_eq!(runs.count(), 1);
    assert_eq!(answers(via, true, &["8e03978e-40d5"]).await, (vec![400], 0), "not when strict");
    assert_eq!(
        answers(via, false, &["\"8e03978e", "8e03978e\""]).await,
        (vec![400; 2], 0),
        "a quote makes it a String"
    );
}

async fn point_06_length_and_characters_are_bounded(via: Via) {
    let (full, over) = (format!("\"{}\"", "x".repeat(255)), format!("\"{}\"", "x".repeat(256)));
    assert_eq!(answers(via, false, &["\"\"", "", &over]).await, (vec![400; 3], 0));
    assert_eq!(
        answers(via, false, &[&full, "\"a:b/c\"", "a:b/c"]).await,
        (vec![201; 3], 2),
        "the last two are one key"
    );
    let escaped = format!("\"{}\"", "\\\"".repeat(255));
    assert_eq!(
        answers(via, true, &[&escaped]).await,
        (vec![201], 1),
        "the length is that of the key, not of the field"
    );

    let runs = Runs::default();
    let builder = scoped(&Idempotency::memory()).key_length(4, 8).key_characters("a-f0-9-");
    let shop = via.shop(payments(&runs).layer(builder.build().unwrap())).await;
    for (key, status) in [("abc", 400), ("abcd", 201), ("abcdef01", 201), ("abcdef012", 400), ("abcg", 400)] {
        assert_eq!(Ask::pay(key).to(&shop).await.status, status, "{key}");
    }
    assert_eq!(runs.count(), 2);
}

async fn point_07_case_and_spaces_matter_inside_quotes(via: Via) {
    let runs = Runs::default();
    let shop = via.shop(payments(&runs).layer(layer())).await;
    for key in ["key", "Key", " key", "key ", "k ey"] {
        assert!(!Ask::pay(key).to(&shop).await.is_replay(), "{key:?}");
    }
    assert_eq!(runs.count(), 5);
    assert!(Ask::pay(" key").to(&shop).await.is_replay(), "the control");
}
