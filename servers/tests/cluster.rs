//! A Cluster of one's own.

use servers::{Cluster, Error, Proxy, Reached, Redis, RedisBinary, needed};

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

#[test]
fn behind_proxies_every_node_is_known_by_its_proxy() {
    let settings = Redis::builder(RedisBinary::System).persistent();
    let Some(cluster) = needed(Cluster::start_reached(&settings, Reached::ThroughProxies)) else { return };
    let ports: Vec<_> = cluster.proxies().iter().map(Proxy::port).collect();
    let told = cluster.nodes()[5].cli(&["CLUSTER", "SLOTS"]).unwrap().to_string();
    // Replicas are told of once they have replicated something.
    assert!(ports[..3].iter().all(|port| told.contains(&port.to_string())), "{told}");
    assert!(cluster.nodes().iter().all(|node| !told.contains(&node.port().to_string())), "{told}");
    assert!(ports[..3].iter().all(|port| cluster.url().contains(&port.to_string())));
    let slot = Cluster::slot("key");
    cluster.primary_of(slot).unwrap().cli(&["SET", "key", "value"]).unwrap();
}
