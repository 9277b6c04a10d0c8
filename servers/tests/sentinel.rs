//! A primary with replicas and Sentinels of one's own.

use servers::{Sentinels, needed};

#[test]
fn another_server_becomes_the_primary_and_holds_the_data() {
    let Some(all) = needed(Sentinels::start()) else { return };
    let first = all.primary().unwrap();
    assert_eq!(first.port(), all.servers()[0].port());
    first.cli(&["SET", "key", "value"]).unwrap();
    assert_eq!(first.cli(&["WAIT", "2", "5000"]).unwrap().integer(), Some(2));

    all.fail_over().unwrap();
    let second = all.primary().unwrap();
    assert_ne!(first.port(), second.port());
    assert_eq!(second.cli(&["GET", "key"]).unwrap().text(), Some("value"));
    all.wait_until_followed().unwrap();
}

#[test]
fn a_dead_primary_is_replaced_and_follows_when_it_is_back() {
    let Some(all) = needed(Sentinels::start()) else { return };
    let (first, port) = (&all.servers()[0], all.primary().unwrap().port());
    first.kill().unwrap();
    while all.primary().unwrap().port() == port {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    first.restart().unwrap();
    all.wait_until_followed().unwrap();
    assert!(first.cli(&["INFO", "replication"]).unwrap().to_string().contains("role:slave"));
}

#[test]
fn a_sentinel_that_was_killed_comes_back_with_what_it_knew() {
    let Some(all) = needed(Sentinels::start()) else { return };
    assert!(all.url().starts_with("redis+sentinel://127.0.0.1:") && all.url().ends_with("/orders"));
    all.kill_sentinel(0).unwrap();
    all.restart_sentinel(0).unwrap();
    all.wait_until_complete().unwrap();
}
