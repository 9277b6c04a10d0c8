//! Which node serves which slot.

use std::sync::Arc;

use redis::Value;

use super::super::address::{Address, How};
use super::super::connection::{Connections, Place};
use super::slot::{SLOTS, Slot};
use crate::store::StoreError;

/// The map as it is known.
#[derive(Default)]
pub(super) struct Map {
    /// One for each slot; empty before the first answer.
    slots: Vec<Option<Arc<Connections>>>,
    /// Nodes that serve slots, or are about to.
    nodes: Vec<Arc<Connections>>,
    /// Nodes that only replicate. They know the map too.
    replicas: Vec<Address>,
}

impl Map {
    pub(super) fn node(&self, slot: Slot) -> Option<Arc<Connections>> {
        self.slots.get(slot.index()).cloned().flatten()
    }

    pub(super) fn serves(&self, node: &Arc<Connections>) -> bool {
        self.slots.iter().flatten().any(|serving| Arc::ptr_eq(serving, node))
    }

    pub(super) fn primaries(&self) -> Vec<Arc<Connections>> {
        self.nodes.clone()
    }

    /// All nodes that can be asked for the map, each once.
    pub(super) fn addresses(&self, seeds: &[Address]) -> Vec<Address> {
        let nodes = self.nodes.iter().filter_map(|node| match &node.place {
            Place::Fixed(address) => Some(address),
            Place::Sentinel(_) => None,
        });
        let mut all: Vec<Address> = Vec::new();
        for address in nodes.chain(&self.replicas).chain(seeds) {
            if !all.contains(address) {
                all.push(address.clone());
            }
        }
        all
    }

    /// One slot has another node.
    pub(super) fn correct(&mut self, slot: Slot, node: &Arc<Connections>) {
        self.slots.resize(usize::from(SLOTS), None);
        self.slots[slot.index()] = Some(Arc::clone(node));
    }

    /// A node, known or new.
    pub(super) fn meet(&mut self, address: Address, how: &Arc<How>) -> Arc<Connections> {
        if let Some(known) = self.nodes.iter().find(|node| node.place.is(&address)) {
            return Arc::clone(known);
        }
        let node = Arc::new(Connections::new(Place::Fixed(address), Arc::clone(how)));
        self.nodes.push(Arc::clone(&node));
        node
    }

    /// All slots as a node has told. Nodes that stay keep their connections.
    pub(super) fn replace(&mut self, told: Ranges, how: &Arc<How>) {
        let mut slots = vec![None; usize::from(SLOTS)];
        let mut serving: Vec<Arc<Connections>> = Vec::new();
        for Range { first, last, node } in told.ranges {
            let node = self.meet(node, how);
            slots[first.index()..=last.index()].fill(Some(Arc::clone(&node)));
            if !serving.iter().any(|known| Arc::ptr_eq(known, &node)) {
                serving.push(node);
            }
        }
        (self.slots, self.nodes, self.replicas) = (slots, serving, told.replicas);
    }
}

/// What a node answers to `CLUSTER SLOTS`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ranges {
    ranges: Vec<Range>,
    replicas: Vec<Address>,
}

#[derive(Debug, PartialEq, Eq)]
struct Range {
    first: Slot,
    last: Slot,
    node: Address,
}

impl Ranges {
    /// Reads an answer: a list of `[first, last, [host, port, …], [host, port, …]…]`, the primary first.
    pub(super) fn read(from: &Address, answer: &Value) -> Result<Self, StoreError> {
        let mut read = Self { ranges: Vec::new(), replicas: Vec::new() };
        let senseless = || StoreError::refused(format!("{from} gave an answer to CLUSTER SLOTS that makes no sense"));
        let Value::Array(ranges) = answer else { return Err(senseless()) };
        for range in ranges {
            let Value::Array(parts) = range else { return Err(senseless()) };
            let [Value::Int(first), Value::Int(last), primary, replicas @ ..] = parts.as_slice() else {
                return Err(senseless());
            };
            let slot = |number: i64| u16::try_from(number).ok().and_then(Slot::new);
            let range = slot(*first).zip(slot(*last)).zip(node(from, primary));
            let ((first, last), node_) =
                range.filter(|((first, last), _)| first.index() <= last.index()).ok_or_else(senseless)?;
            read.ranges.push(Range { first, last, node: node_ });
            read.replicas.extend(replicas.iter().filter_map(|replica| node(from, replica)));
        }
        if read.ranges.is_empty() {
            return Err(StoreError::unavailable(format!("{from} knows no node of the Cluster that serves a slot")));
        }
        Ok(read)
    }
}

/// Where a node is; one without a host is where the answer came from.
fn node(from: &Address, described: &Value) -> Option<Address> {
    let Value::Array(parts) = described else { return None };
    let host = match parts.first()? {
        Value::BulkString(host) => String::from_utf8(host.clone()).ok().filter(|host| host != "?")?,
        Value::Nil => String::new(),
        _ => return None,
    };
    match parts.get(1)? {
        Value::Int(port) => Some(from.beside(host, u16::try_from(*port).ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port }
    }

    fn answer(text: &str) -> Value {
        redis::parse_redis_value(text.as_bytes()).expect("a well-formed answer")
    }

    #[test]
    fn an_answer_is_read_with_primaries_and_replicas() {
        let told = answer(
            "*2\r\n*4\r\n:0\r\n:99\r\n*3\r\n$3\r\none\r\n:1\r\n$2\r\nid\r\n*3\r\n$3\r\ntwo\r\n:2\r\n$2\r\nid\r\n\
             *3\r\n:100\r\n:16383\r\n*3\r\n_\r\n:3\r\n$2\r\nid\r\n",
        );
        let read = Ranges::read(&address("asked", 9), &told).expect("a good answer");
        let slot = |number| Slot::new(number).expect("there is one");
        let ranges = vec![
            Range { first: slot(0), last: slot(99), node: address("one", 1) },
            Range { first: slot(100), last: slot(16_383), node: address("asked", 3) },
        ];
        assert_eq!(read, Ranges { ranges, replicas: vec![address("two", 2)] });
    }

    #[test]
    fn an_answer_that_makes_no_sense_is_refused() {
        for text in ["*1\r\n:1\r\n", "+OK\r\n", "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n"] {
            Ranges::read(&address("asked", 9), &answer(text)).expect_err(text);
        }
        let error = Ranges::read(&address("asked", 9), &answer("*0\r\n")).expect_err("nobody serves");
        assert_eq!(error.kind(), crate::store::StoreErrorKind::Unavailable);
    }
}
