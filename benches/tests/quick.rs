//! The benchmarks themselves work, and say what they promise to say.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use servers::{Postgres, Redis, RedisBinary};

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
        "http_server_by_hand",
        "http_server_first_call",
        "http_server_replay",
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

#[test]
fn a_quick_run_sweeps_beside_claims() {
    let Some(postgres) = servers::needed(Postgres::start()) else { return };
    drop(postgres);
    let figures = quick(&["sweep"]);

    let (backlog, churn) = (&figures["sweep"]["backlog"], &figures["sweep"]["churn"]);
    assert_eq!(backlog["rows"], 10_000);
    for claims in [&backlog["quiet"], &backlog["sweeping"], &churn["claims"]] {
        assert!(claims["claims"].as_u64().is_some_and(|claims| claims > 0), "{claims}");
        assert!(claims["p99_ms"].as_f64() >= claims["median_ms"].as_f64(), "{claims}");
    }
    assert!(backlog["p99_ratio"].as_f64().is_some_and(|ratio| ratio > 0.0), "{backlog}");
    assert!(churn["growth"].as_f64().is_some_and(|growth| growth > 0.0), "{churn}");
    let samples = churn["samples"].as_array().expect("a list");
    assert_eq!(samples.len(), 12);
    assert!(samples.iter().all(|sample| sample["total"].as_u64() > sample["relation"].as_u64()), "{churn}");
    // Completions are updates, and what was due when it began has been removed.
    let last = &samples[11];
    assert!(last["updated"].as_u64().is_some_and(|updated| updated > 0), "{churn}");
    assert!(last["hot_updated"].as_u64().is_some_and(|hot| hot > 0), "{churn}");
    assert!(last["removed"].as_u64().is_some_and(|removed| removed > 0), "{churn}");
}

#[test]
fn a_quick_run_watches_the_command_line() {
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    drop(redis);
    build_the_command_line();
    let figures = quick(&["million"]);

    assert_eq!(figures["million"]["records"], 10_000);
    let commands = figures["million"]["commands"].as_object().expect("an object");
    assert!(commands.keys().eq(["list", "purge --dry-run", "stats"]), "{commands:?}");
    for (name, command) in commands {
        for figure in ["seconds", "p99_ratio"] {
            assert!(command[figure].as_f64().is_some_and(|figure| figure > 0.0), "{name}: {command}");
        }
        if cfg!(target_os = "linux") {
            assert!(command["peak_mb"].as_f64().is_some_and(|peak| peak > 1.0), "{name}: {command}");
        }
    }
}

/// Where the tests of this package are run alone, nobody has.
fn build_the_command_line() {
    let benches = Path::new(env!("CARGO_BIN_EXE_benches"));
    if benches.with_file_name(format!("idempotent{}", std::env::consts::EXE_SUFFIX)).exists() {
        return;
    }
    let target = benches.parent().and_then(Path::parent).expect("the target directory");
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--package", "idempotent-cli", "--profile", profile, "--target-dir"])
        .arg(target)
        .status();
    assert!(built.expect("cargo can be run").success(), "the command line can be built");
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
