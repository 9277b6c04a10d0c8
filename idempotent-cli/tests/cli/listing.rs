//! Looking: nothing is changed by it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{Place, on_every_store};

on_every_store! {
    records_are_listed_and_selected
    a_list_goes_on_where_it_stopped
    one_record_is_shown
    records_are_counted
    numbers_are_shown_again_and_again
}

fn keys(lines: &[Value]) -> BTreeSet<&str> {
    lines.iter().filter_map(|line| line["key"].as_str()).collect()
}

fn records_are_listed_and_selected(place: &Place) {
    place.fill();
    let all = place.run(["list", "--json"]).lines();
    assert_eq!(all.len(), 6, "{}: {all:#?}", place.name);

    let of_order = place.run(["list", "--json", "--prefix", "order"]).lines();
    assert!(!keys(&of_order).contains("orders:consume:1"), "{of_order:#?}");
    assert_eq!(of_order.len(), 5);
    for pattern in ["order*", "o?der", "[o]rder"] {
        assert_eq!(place.run(["list", "--json", "--prefix", pattern]).lines().len(), 0, "{pattern}");
    }

    for (state, key) in [
        ("in-progress", "order:consume:live"),
        ("abandoned", "order:consume:stuck"),
        ("failed", "order:consume:failed"),
        ("completed", "order:consume:done"),
    ] {
        let selected = place.run(["list", "--json", "--prefix", "order:consume", "--state", state]).lines();
        assert_eq!(keys(&selected), BTreeSet::from([key]), "{state}");
        assert_eq!(selected[0]["state"], state);
    }
    assert_eq!(place.run(["list", "--json", "--silent-for", "1h"]).lines().len(), 0);
    assert_eq!(place.run(["list", "--json", "--silent-for", "0s"]).lines().len(), 2);
    assert_eq!(place.run(["list", "--json", "--expires-within", "1m"]).lines().len(), 0);

    let shown = place.run(["list"]);
    shown.ends_with(0);
    assert!(shown.out.starts_with("KEY "), "{shown:?}");
    assert!(shown.out.contains("order:init:7[init_token]") && shown.out.contains("abandoned"), "{shown:?}");
    assert!(!shown.out.contains('\u{1b}'), "no colours, and nothing of a record's own: {shown:?}");
    assert_eq!(place.run(["list", "--namespace", "shop", "--json"]).lines().len(), 0);
}

fn a_list_goes_on_where_it_stopped(place: &Place) {
    place.fill();
    let mut found = BTreeSet::new();
    let mut after: Option<String> = None;
    for _ in 0..1000 {
        let mut arguments = vec!["list", "--json", "--limit", "1", "--page", "1"];
        arguments.extend(after.iter().flat_map(|after| ["--after", after]));
        let lines = place.run(arguments).lines();
        found.extend(keys(&lines).into_iter().map(str::to_owned));
        after = lines.last().and_then(|line| line["next"].as_str()).map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    assert_eq!((after, found.len()), (None, 6), "{}", place.name);
    let nowhere = place.run(["list", "--after", "nowhere"]);
    nowhere.ends_with(1);
    assert!(nowhere.err.contains("list from the start"), "{nowhere:?}");
}

fn one_record_is_shown(place: &Place) {
    place.fill();
    let stuck = place.run(["inspect", "--json", "order:consume:stuck"]).json();
    assert_eq!(
        (&stuck["state"], &stuck["given_up"], &stuck["attempt"]),
        (&"abandoned".into(), &true.into(), &1.into())
    );
    assert_eq!(place.run(["inspect", "--json", "order:consume:failed"]).json()["last_error"], "burnt\u{1b}[31m");

    let done = place.run(["inspect", "--json", "order:consume:done"]).json();
    assert_eq!((&done["result"]["bytes"], &done["result"]["value"]), (&13.into(), &Value::Null));
    let done = place.run(["inspect", "--json", "--show-result", "order:consume:done"]).json();
    assert_eq!(done["result"]["value"]["receipt"], 7);

    let shown = place.run(["inspect", "order:consume:done"]);
    assert!(shown.out.contains("completed") && !shown.out.contains("receipt"), "{shown:?}");
    assert!(place.run(["inspect", "--show-result", "order:consume:done"]).out.contains("receipt"));
    assert!(!place.run(["inspect", "order:consume:failed"]).out.contains('\u{1b}'));
    assert_eq!(place.state("order:init:7[init_token]").as_deref(), Ok("completed"));

    let absent = place.run(["inspect", "order:consume:nobody"]);
    absent.ends_with(3);
    assert!(absent.err.contains("order:consume:nobody") && absent.out.is_empty(), "{absent:?}");
}

fn records_are_counted(place: &Place) {
    place.fill();
    let stats = place.run(["stats", "--json"]).json();
    let of = &stats["prefixes"]["order:consume"];
    // `live`, `stuck`, `failed` and `done` are words, and the last part is never taken for a name.
    for (state, number) in [("in-progress", 1), ("abandoned", 1), ("failed", 1), ("completed", 1), ("all", 4)] {
        assert_eq!(of[state], number, "{state} in {stats:#}");
    }
    assert_eq!((&stats["total"]["all"], &stats["prefixes"]["orders:consume"]["all"]), (&6.into(), &1.into()));
    assert_eq!(stats["oldest"].as_array().map(Vec::len), Some(2), "{stats:#}");
    let shown = place.run(["stats", "--state", "abandoned"]);
    assert!(shown.out.contains("order:consume:stuck") && !shown.out.contains("orders"), "{shown:?}");
}

fn numbers_are_shown_again_and_again(place: &Place) {
    place.fill();
    let looks = place.run(["watch", "--json", "--times", "2", "--every", "10ms"]).lines();
    assert_eq!(looks.iter().map(|look| look["total"]["all"].as_u64()).collect::<Vec<_>>(), [Some(6), Some(6)]);
    let shown = place.run(["watch", "--times", "1"]);
    assert!(shown.out.contains("order:consume") && !shown.out.contains('\u{1b}'), "{shown:?}");
}
