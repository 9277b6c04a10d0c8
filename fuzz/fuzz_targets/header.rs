//! Fuzzes the field, from its bytes to a key. `cargo xtask fuzz header` runs it.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| idempotent_runtime::fuzzed::header(data));
