//! Fuzzes a stored response, from its bytes and back. `cargo xtask fuzz record` runs it.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| idempotent_runtime::fuzzed::record(data));
