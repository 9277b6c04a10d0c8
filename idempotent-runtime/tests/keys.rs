//! Random key parts: different parts never give the same key, and equal ones always do.

use idempotent_runtime::{Idempotency, KeyPart};
use proptest::prelude::*;

/// Parts of the characters that could be mistaken for structure, and some others.
fn parts() -> impl Strategy<Value = Vec<String>> {
    let hostile = "[a:%{}*?0-9~é\\[\\]/_ \n.-]{1,6}";
    let any = "\\PC{1,12}";
    let long = "[ab:%]{90,120}";
    let part = prop_oneof![6 => hostile, 2 => any, 1 => long].prop_map(String::from);
    proptest::collection::vec(part, 1..4)
}

fn key(of: &[String]) -> String {
    let parts: Vec<&dyn KeyPart> = of.iter().map(|part| part as _).collect();
    let idempotency = Idempotency::disabled();
    idempotency.key("p", &parts).expect("no part is empty").as_str().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn different_parts_never_give_the_same_key(one in parts(), other in parts()) {
        prop_assert_eq!(key(&one) == key(&other), one == other);
    }

    #[test]
    fn moving_a_character_to_the_next_part_changes_the_key(parts in parts()) {
        for at in 1..parts.len() {
            let (mut moved, mut shorter) = (parts.clone(), parts[at - 1].clone());
            let Some(last) = shorter.pop().filter(|_| !shorter.is_empty()) else { continue };
            moved[at].insert(0, last);
            moved[at - 1] = shorter;
            prop_assert_ne!(key(&moved), key(&parts));
        }
    }

    #[test]
    fn joining_two_parts_changes_the_key(parts in parts(), with in "[:%a]{0,2}") {
        if let [first, second, rest @ ..] = &parts[..] {
            let mut joined = vec![format!("{first}{with}{second}")];
            joined.extend_from_slice(rest);
            prop_assert_ne!(key(&joined), key(&parts));
        }
    }

    #[test]
    fn a_key_is_plain_and_bounded(parts in parts()) {
        let key = key(&parts);
        prop_assert!(key.len() <= 1 + 200, "{key:?}");
        prop_assert!(!key.contains(['{', '}', '*', '?', '[', ']']) && !key.contains(char::is_control), "{key:?}");
    }
}
