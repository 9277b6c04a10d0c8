//! Fuzzes the key of a record, from its parts and back. `cargo xtask fuzz key` runs it.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| idempotent_runtime::fuzzed::key(data));
