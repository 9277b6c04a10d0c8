//! A Cluster of one's own.

use servers::{Cluster, Error, RedisBinary, needed};

#[test]
fn every_binary_makes_a_cluster_whose_slots_are_all_served() {
    for binary in RedisBinary::ALL {
        let Some(cluster) = needed(Cluster::start(*binary)) else { continue };
        assert_eq!(cluster.nodes().len(), 6);
        for key in ["123456789", "order:1", "{shop}:1", "{}:1", "a{b"] {
            let slot = Cluster::slot(key);
            let said = cluster.nodes()[0].cli(&["CLUSTER", "KEYSLOT", key]).unwrap().integer();
            assert_eq!(said, Some(slot.into()), "{key}");
            assert_eq!(cluster.cli_for(key, &["SET", key, "value"]).unwrap().text(), Some("OK"));
        }
    }
}

#[test]
fn a_slot_moves_with_its_keys() {
    let Some(cluster) = needed(Cluster::start(RedisBinary::System)) else { return };
    let slot = Cluster::slot("key");
    let from = cluster.primary_of(slot).unwrap();
    let to = cluster.nodes()[..3].iter().find(|node| node.port() != from.port()).unwrap();
    from.cli(&["SET", "key", "value"]).unwrap();

    cluster.begin_migration(slot, from, to).unwrap();
    assert_eq!(from.cli(&["GET", "key"]).unwrap().text(), Some("value"));
    cluster.end_migration(slot, from, to).unwrap();
    let moved = from.cli(&["GET", "key"]).unwrap_err();
    assert!(matches!(&moved, Error::Refused(words) if words.starts_with("MOVED")), "{moved}");
    assert_eq!(to.cli(&["GET", "key"]).unwrap().text(), Some("value"));
}
