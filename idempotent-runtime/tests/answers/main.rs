//! Answers without a word to the store: from a cache of completed records, and from a call that asks already.

#![cfg(all(feature = "cache", feature = "testing"))]

mod cache;
mod collapse;
mod support;
