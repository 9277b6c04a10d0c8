//! The benchmarks themselves work, and say what they promise to say.

use std::process::{Command, Stdio};

use serde_json::Value;
use servers::{Redis, RedisBinary};

/// Runs the benchmarks for a moment.
fn quick(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_benches"))
        .args(["--quick", "--json"])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the benchmarks can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object and nothing else")
}

#[test]
fn a_quick_run_gives_every_figure() {
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    drop(redis);
    let figures = quick(&[]);

    for by_in_flight in ["first_call", "duplicate", "cluster", "hash_layout", "tiered_duplicate"] {
        for in_flight in ["1", "50", "500"] {
            let ratio = figures[by_in_flight][in_flight].as_f64();
            assert!(ratio.is_some_and(|ratio| ratio > 0.0), "{by_in_flight} {in_flight}: {ratio:?}");
            assert!(figures["spreads"][by_in_flight][in_flight].is_array(), "{by_in_flight} {in_flight}");
        }
    }
    for name in [
        "http_first_call",
        "http_replay",
        "memory_call_ns",
        "memory_call_allocations",
        "record_bytes",
        "plain_set_bytes",
        "future_bytes",
    ] {
        assert!(figures[name].as_f64().is_some_and(|figure| figure > 0.0), "{name}: {}", figures[name]);
    }
    // Instructions need a tool that is not everywhere.
    assert!(figures["memory_call_instructions"].is_null() || figures["memory_call_instructions"].is_u64());
}

/// The first time it also builds what the crates depend on.
#[test]
fn a_quick_run_builds_the_crates_of_every_kind() {
    let figures = quick(&["--compile"]);
    let [compile] = &figures["compile"].as_array().expect("a list")[..] else { panic!("{figures}") };
    assert_eq!((&compile["handlers"], &compile["handlers_of_a_type"]), (&4.into(), &2.into()));
    for build in ["clean_check", "incremental_check", "clean_debug", "incremental_debug"] {
        for of in ["plain", "annotated", "instrumented"] {
            let seconds = compile["builds"][build][of]["median"].as_f64();
            assert!(seconds.is_some_and(|seconds| seconds > 0.0), "{build} {of}: {seconds:?}");
        }
    }
}
