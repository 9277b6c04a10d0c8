//! The short form of `cargo xtask storm --sql`: one round of each scenario on each store.

use std::process::Command;

fn one_round_of_each_scenario_on(store: &str) {
    let ended = Command::new(env!("CARGO_BIN_EXE_storm")).args(["--store", store, "--rounds", "1", "--json"]).output();
    let ended = ended.expect("it starts");
    let said = String::from_utf8_lossy(&ended.stdout);
    let counted: serde_json::Value = serde_json::from_str(&said)
        .unwrap_or_else(|error| panic!("{error}: {said}\n{}", String::from_utf8_lossy(&ended.stderr)));
    assert_eq!((&counted["rounds"], &counted["violations"]), (&5.into(), &0.into()), "{said}");
    assert_eq!(counted["stores"][store]["scenarios"].as_object().map(serde_json::Map::len), Some(5), "{said}");
    assert!(ended.status.success());
}

#[test]
fn the_effect_is_there_exactly_once_whatever_becomes_of_the_winner_and_the_server() {
    if servers::needed(servers::Program::Postgres.find()).is_none() {
        return;
    }
    one_round_of_each_scenario_on("postgres");
}

#[test]
fn the_effect_is_there_exactly_once_in_a_file_whatever_becomes_of_the_winner() {
    one_round_of_each_scenario_on("sqlite");
}
