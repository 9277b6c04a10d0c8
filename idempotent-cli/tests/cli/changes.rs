//! Changing: what is refused, with a control that is accepted.

use crate::support::{Place, on_every_store};

on_every_store! {
    a_record_is_resolved
    a_record_is_released
    one_more_attempt_is_allowed
    records_are_purged
    what_was_done_before_is_taken_over
    what_has_expired_is_swept
    the_doctor_looks
    the_table_is_made
}

const STUCK: &str = "order:consume:stuck";

fn a_record_is_resolved(place: &Place) {
    place.fill();
    let resolve = ["resolve", STUCK, "--result", r#"{"receipt":8}"#, "--ttl", "1h"];
    let with = |more: &[&'static str]| [resolve.as_slice(), more].concat();
    // No reason, nobody to ask, a person who is not there to see the question, a result that is none.
    place.run(with(&["--yes"])).ends_with(2);
    let unasked = place.run(with(&["--why", "looked it up"]));
    unasked.ends_with(4);
    assert!(unasked.err.contains("--yes") && unasked.err.contains(STUCK), "{unasked:?}");
    place.run_and_say(&with(&["--why", "looked it up"]), "y\n").ends_with(4);
    place.run(["resolve", STUCK, "--result", "{", "--ttl", "1h", "--why", "w", "--yes"]).ends_with(2);
    assert_eq!(place.state(STUCK).as_deref(), Ok("abandoned"));

    let done = place.run(with(&["--why", "looked it up", "--yes", "--json"]));
    assert_eq!(done.json()["done"], true);
    for word in ["resolve", STUCK, "ada", "looked it up"] {
        assert!(done.err.contains(word), "the audit line has no {word:?}: {done:?}");
    }
    let record = place.run(["inspect", "--json", "--show-result", STUCK]).json();
    assert_eq!((&record["state"], &record["result"]["value"]["receipt"]), (&"completed".into(), &8.into()));
    let absent = ["resolve", "nobody:1", "--result", "1", "--ttl", "1h", "--why", "w", "--yes"];
    place.run(absent).ends_with(3);
}

fn a_record_is_released(place: &Place) {
    place.fill();
    let live = place.run(["release", "order:consume:live", "--why", "w", "--yes"]);
    live.ends_with(4);
    assert!(live.err.contains("kitchen-1:71"), "{live:?}");
    assert_eq!(place.state("order:consume:live").as_deref(), Ok("in-progress"));

    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder.path().join("audit.log");
    let log_argument = log.to_str().expect("a name in UTF-8");
    let released =
        place.run(["release", STUCK, "--who", "grace", "--why", "no effect", "--yes", "--audit", log_argument]);
    released.ends_with(0);
    assert!(released.out.contains(STUCK) && released.err.is_empty(), "{released:?}");
    let audit_line = std::fs::read_to_string(&log).expect("the audit log");
    for part in ["grace", "no effect", STUCK] {
        assert!(audit_line.contains(part), "{audit_line}");
    }
    assert!(!audit_line.contains('\u{1b}'), "{audit_line}");
    let record = place.run(["inspect", "--json", STUCK]).json();
    assert_eq!((&record["state"], &record["last_error"]), (&"failed".into(), &"no effect".into()));
}

fn one_more_attempt_is_allowed(place: &Place) {
    place.fill();
    place.run(["allow-one-more", STUCK, "--why", "mended"]).ends_with(4);
    place.run(["allow-one-more", STUCK, "--why", "mended", "--yes"]).ends_with(0);
    let record = place.run(["inspect", "--json", STUCK]).json();
    assert_eq!((&record["state"], &record["attempt"]), (&"failed".into(), &0.into()));
}

fn records_are_purged(place: &Place) {
    place.fill();
    // Everything by mistake; no reason; nobody to ask.
    place.run(["purge", "--why", "w", "--yes"]).ends_with(2);
    place.run(["purge", "--prefix", "order", "--yes"]).ends_with(2);
    place.run(["purge", "--prefix", "order", "--why", "w"]).ends_with(4);
    let none = place.run(["purge", "--prefix", "ord*", "--why", "w", "--yes", "--json"]).json();
    assert_eq!(none["removed"], 0);
    let would = place.run(["purge", "--prefix", "order", "--dry-run", "--json"]).json();
    assert_eq!((&would["removed"], &would["live"], &would["dry_run"]), (&4.into(), &1.into(), &true.into()));
    assert_eq!(place.run(["list", "--json"]).lines().len(), 6, "nothing was removed yet");

    let done = place.run(["purge", "--prefix", "order", "--why", "moved", "--yes"]);
    done.ends_with(0);
    assert!(done.out.contains("4 records were removed") && done.out.contains("1 belong to live runs"), "{done:?}");
    assert_eq!(done.err.lines().filter(|line| line.contains("moved")).count(), 4, "an audit line each: {done:?}");
    assert_eq!(place.state("order:consume:live").as_deref(), Ok("in-progress"));
    assert_eq!(place.state("orders:consume:1").as_deref(), Ok("completed"));
    assert_eq!(place.state(STUCK), Err(3));

    let one = ["purge", "--key", "order:consume:live", "--why", "w", "--yes"];
    place.run(one).ends_with(4);
    place.run(one.iter().chain(&["--force"])).ends_with(0);
    assert_eq!(place.state("order:consume:live"), Err(3));
    let all = place.run(["purge", "--all", "--why", "w", "--yes", "--json"]).json();
    assert_eq!(all["removed"], 1);
}

fn what_has_expired_is_swept(place: &Place) {
    place.fill();
    let swept = place.run(["sweep", "--json"]).json();
    assert_eq!((&swept["removed"], &swept["by_itself"]), (&0.into(), &(!has_tables(place)).into()));
    assert_eq!(place.run(["list", "--json"]).lines().len(), 6, "what stands is not swept");
}

fn the_doctor_looks(place: &Place) {
    place.fill();
    // The database of these tests does not wait for its disk, so that they are fast; and that is serious.
    let (code, serious) = if place.name == "postgres" { (5, true) } else { (0, false) };
    let ran = place.run(["doctor", "--json"]);
    let looked: serde_json::Value = serde_json::from_str(&ran.ends_with(code).out).expect("JSON");
    assert_eq!(looked["serious"], serious, "{ran:?}");
    assert!(looked["store"].is_string() && looked["concerns"].is_array(), "{ran:?}");
    let shown = place.run(["doctor"]);
    assert_eq!(shown.ends_with(code).out.contains("set fsync to on"), serious, "{shown:?}");
}

fn the_table_is_made(place: &Place) {
    let sql = place.run(["migrate", "--print"]);
    if has_tables(place) {
        assert!(sql.out.contains("CREATE TABLE IF NOT EXISTS"), "{sql:?}");
        // Looking makes nothing.
        place.run(["stats"]).ends_with(1);
        place.run(["stats"]).ends_with(1);
    } else {
        sql.ends_with(2);
    }
    assert_eq!(place.run(["migrate", "--json"]).json()["tables"], has_tables(place));
    place.run(["stats"]).ends_with(0);
    place.run(["migrate"]).ends_with(0);
}

fn has_tables(place: &Place) -> bool {
    matches!(place.name, "postgres" | "sqlite")
}

fn what_was_done_before_is_taken_over(place: &Place) {
    place.fill();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("done.txt");
    let file = file.to_str().expect("a name in UTF-8");
    let import = |more: &[&'static str]| place.run([&["import", file, "--ttl", "1h"], more].concat());
    // One with its result, one without, a step; and four that have a record, in four states.
    let new = "import:1\t{\"receipt\":1}\nimport:2\n\nimport:entity:7[first]\t[1]\n";
    let known = ["live", "stuck", "failed", "done"].map(|known| format!("order:consume:{known}\t{{\"receipt\":0}}\n"));
    let lines = format!("{new}{}", known.concat());
    std::fs::write(file, &lines).expect("a file");
    import(&["--yes"]).ends_with(2);
    let asked = import(&["--why", "the old consumer's"]);
    assert!(asked.ends_with(4).err.contains("take 7 keys over as completed, for 1h"), "{asked:?}");
    assert_eq!(place.state("import:1"), Err(3), "nothing is done yet");

    let done = import(&["--why", "the old consumer's", "--yes", "--json"]);
    assert_eq!((&done.json()["taken_over"], &done.json()["known"]), (&3.into(), &4.into()));
    assert_eq!(done.err.lines().filter(|line| line.contains("the old consumer's")).count(), 3, "{done:?}");
    let record = place.run(["inspect", "--json", "--show-result", "import:1"]).json();
    assert_eq!((&record["state"], &record["result"]["value"]["receipt"]), (&"completed".into(), &1.into()));
    for (key, state) in [
        ("import:2", "completed"),
        ("import:entity:7[first]", "completed"),
        ("order:consume:live", "in-progress"),
        (STUCK, "abandoned"),
        ("order:consume:failed", "failed"),
        ("order:consume:done", "completed"),
    ] {
        assert_eq!(place.state(key).as_deref(), Ok(state), "{key}");
    }
    let kept = place.run(["inspect", "--json", "--show-result", "order:consume:done"]).json();
    assert_eq!(kept["result"]["value"]["receipt"], 7, "a record that is there stands");
    assert_eq!(import(&["--why", "again", "--yes", "--json"]).json()["taken_over"], 0);

    // A mistake in the last line is told before the first one counts.
    for wrong in ["import:9\nno key", "import:9\nimport:10\t{"] {
        std::fs::write(file, wrong).expect("a file");
        assert!(import(&["--why", "w", "--yes"]).ends_with(2).err.contains("line 2"), "{wrong:?}");
    }
    assert_eq!(place.state("import:9"), Err(3));
}
