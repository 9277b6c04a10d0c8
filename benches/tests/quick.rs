//! The benchmarks themselves work, and say what they promise to say.

use std::process::{Command, Stdio};

use serde_json::Value;
use servers::{Redis, RedisBinary};

#[test]
fn a_quick_run_gives_every_figure() {
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    drop(redis);

    let output = Command::new(env!("CARGO_BIN_EXE_benches"))
        .args(["--quick", "--json"])
        .stdin(Stdio::null())
        .output()
        .expect("the benchmarks can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figures: Value = serde_json::from_slice(&output.stdout).expect("one JSON object and nothing else");

    for by_in_flight in ["first_call", "duplicate", "hash_layout"] {
        for in_flight in ["1", "50", "500"] {
            let ratio = figures[by_in_flight][in_flight].as_f64();
            assert!(ratio.is_some_and(|ratio| ratio > 0.0), "{by_in_flight} {in_flight}: {ratio:?}");
            assert!(figures["spreads"][by_in_flight][in_flight].is_array(), "{by_in_flight} {in_flight}");
        }
    }
    for name in ["memory_call_ns", "memory_call_allocations", "record_bytes", "plain_set_bytes", "future_bytes"] {
        assert!(figures[name].as_f64().is_some_and(|figure| figure > 0.0), "{name}: {}", figures[name]);
    }
    // Instructions need a tool that is not everywhere.
    assert!(figures["memory_call_instructions"].is_null() || figures["memory_call_instructions"].is_u64());
}
