//! What people watch at night: the names in the alert rules, the dashboard and the guide are those that are measured.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use servers::{Program, needed};
use tests::example;

const ALERTS: &str = include_str!("../../examples/observability/alerts.yml");
const TRIED: &str = include_str!("../../examples/observability/alerts_test.yml");
const DASHBOARD: &str = include_str!("../../examples/observability/grafana.json");
const GUIDE: &str = include_str!("../../idempotent-runtime/src/guide/signals.md");
const OBSERVED: &str = include_str!("../../idempotent-runtime/src/observe.rs");

/// Every `idempotent_…` in a text, a histogram by its own name.
fn names(text: &str) -> BTreeSet<String> {
    let is_name = |char: char| char.is_ascii_lowercase() || char == '_';
    let words = text.split(|char| !is_name(char)).filter(|word| word.starts_with("idempotent_"));
    let histogram = |word: &str| word.strip_suffix("_bucket").unwrap_or(word).to_owned();
    words.map(histogram).filter(|name| name != "idempotent_runtime").collect()
}

/// The names that the runtime measures under.
fn measured() -> BTreeSet<String> {
    let strings = OBSERVED.split('"').skip(1).step_by(2);
    strings.filter(|text| text.starts_with("idempotent_")).map(str::to_owned).collect()
}

#[test]
fn the_guide_tells_of_every_metric_and_of_no_other() {
    let measured = measured();
    assert!(measured.len() >= 11, "{measured:?}");
    assert_eq!(names(GUIDE), measured);
}

#[test]
fn alerts_and_dashboard_ask_for_metrics_that_there_are() {
    let measured = measured();
    for (file, text) in [("alerts.yml", ALERTS), ("grafana.json", DASHBOARD)] {
        let asked = names(text);
        let unknown: Vec<_> = asked.difference(&measured).collect();
        assert!(!asked.is_empty() && unknown.is_empty(), "{file} asks for {unknown:?}");
    }
    assert_eq!(names(DASHBOARD), measured, "the dashboard shows every metric");
    for needed in
        ["store_unavailable", "claims_lost_total", "unrecorded_total", "indeterminate", "oldest_in_progress_seconds"]
    {
        assert!(ALERTS.contains(needed), "no alert on {needed}");
    }
}

/// What `promtool` says of a file in the folder of the example, or of one that was written for this.
fn promtool(check: [&str; 2], file: &Path) -> Option<Output> {
    let promtool = needed(Program::Promtool.find())?;
    let output = Command::new(promtool).args(check).arg(file).current_dir(observability()).output();
    Some(output.expect("promtool runs"))
}

fn observability() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("examples").join("observability")
}

#[test]
fn prometheus_takes_the_rules_and_each_fires_when_it_should_and_not_before() {
    for (check, file) in [
        (["check", "rules"], "alerts.yml"),
        (["check", "config"], "prometheus.yml"),
        (["test", "rules"], "alerts_test.yml"),
    ] {
        let Some(output) = promtool(check, Path::new(file)) else { return };
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&said));
    }
    // Each has a time at which it fires.
    let alerts = ALERTS.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    let fired = TRIED.split("exp_alerts:\n").count() - 1;
    assert!(alerts.clone().count() <= fired);
    for alert in alerts {
        assert!(TRIED.contains(&format!("- alertname: {alert}\n")), "no case in which {alert} fires");
    }
}

#[test]
fn a_rule_with_a_mistake_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("alerts.yml");
    std::fs::write(&file, ALERTS.replacen("sum by", "sum bye", 1)).expect("a file");
    let Some(output) = promtool(["check", "rules"], &file) else { return };
    assert!(!output.status.success(), "{output:?}");
}

#[test]
fn the_dashboard_is_one_that_grafana_can_import() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(panels.len() >= 8);
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().expect("an id")).collect();
    assert_eq!(ids.len(), panels.len(), "ids are unique");
    for panel in panels {
        assert!(panel["gridPos"]["w"].as_u64().is_some_and(|width| width <= 24), "{panel}");
        for target in panel["targets"].as_array().expect("targets") {
            assert!(target["expr"].as_str().is_some_and(|expr| expr.contains("idempotent_")), "{target}");
        }
    }
}

#[test]
fn what_a_scrape_reads_has_these_names() {
    let output = Command::new(example("metrics")).output().expect("it runs");
    let scraped = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{scraped}");
    let line = |start: &str| scraped.lines().find(|line| line.starts_with(start)).unwrap_or("nothing").to_owned();
    let calls =
        |outcome: &str| line(&format!("idempotent_calls_total{{prefix=\"order:consume\",outcome=\"{outcome}\"}}"));
    assert!(calls("executed").ends_with(" 10"), "{scraped}");
    assert!(calls("failed").ends_with(" 2"), "{scraped}");
    assert!(line("idempotent_retries_total").ends_with(" 2"), "{scraped}");
    assert!(line("idempotent_in_progress{").ends_with(" 0"), "{scraped}");
    // As histograms: the dashboard asks for their buckets.
    for histogram in ["idempotent_handler_seconds_bucket{", "idempotent_store_seconds_bucket{"] {
        assert!(line(histogram).starts_with(histogram), "{scraped}");
    }
    let known = measured();
    let typed = scraped.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let unknown: Vec<_> = typed.filter(|name| !known.contains(*name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn a_duplicate_stands_in_the_trace_of_its_producer() {
    let output = Command::new(example("traces")).output().expect("it runs");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let expected = [
        "one trace: true",
        "orders.publish ",
        "  orders.process consumer=a",
        "    idempotent key=order:consume:1001 outcome=executed attempt=1",
        "      kitchen.prepare ",
        "  orders.process consumer=b",
        "    idempotent key=order:consume:1001 outcome=busy",
        "  orders.process consumer=a",
        "    idempotent key=order:consume:1001 outcome=replayed attempt=1",
    ];
    assert_eq!(lines, expected);
}
