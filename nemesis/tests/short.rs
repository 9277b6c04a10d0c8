//! The short form: some seconds of harm on each deployment, and no violation.

use std::process::Command;

use servers::{Program, needed};

/// Storms on one deployment; its report.
fn storm(deployment: &str, seconds: u32) -> Option<serde_json::Value> {
    needed(Program::RedisServer.find())?;
    needed(Program::RedisSentinel.find())?;
    let output = Command::new(env!("CARGO_BIN_EXE_nemesis"))
        .args(["--json", "--deployment", deployment, "--seconds", &seconds.to_string()])
        .output()
        .expect("it runs");
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}");
    println!("{said}");
    let reports: Vec<serde_json::Value> = serde_json::from_str(&said).expect("a list");
    let [report] = reports.try_into().expect("one deployment");
    Some(report)
}

/// Much was called, and the harm of every kind was done.
#[track_caller]
fn harmed(report: &serde_json::Value, kinds: &[&str]) {
    let count = |value: &serde_json::Value| value.as_u64().unwrap_or_default();
    assert!(count(&report["calls"]) > 100 && count(&report["runs"]) > 20, "{report}");
    assert_eq!(count(&report["violations"]), 0, "{report}");
    for kind in ["consumer_killed", "consumer_stopped", "cut_after_request"].iter().chain(kinds) {
        assert!(count(&report["faults"][kind]) > 0, "no {kind}: {report}");
    }
}

#[test]
fn a_storm_on_one_server() {
    let Some(report) = storm("one", 12) else { return };
    harmed(&report, &["server_killed", "server_stopped"]);
    assert_eq!(report["lost_writes"], 0, "what one server has acknowledged is on its disk: {report}");
}

#[test]
fn a_storm_behind_sentinels() {
    let Some(report) = storm("sentinel", 15) else { return };
    harmed(&report, &[]);
}

#[test]
fn a_storm_on_a_cluster() {
    let Some(report) = storm("cluster", 15) else { return };
    harmed(&report, &[]);
}
