//! What needs no store, and what a store can be wrong about.

use idempotent_runtime::{Idempotency, MemoryStore};
use servers::{Redis, RedisBinary};

use crate::support::idempotent;

#[test]
fn a_key_is_derived_as_the_attribute_derives_it() {
    let memory = Idempotency::memory();
    for parts in [["1001", "spring"], ["a:b", "c*?[]"], ["ä", " "]] {
        let key = memory.key("order:consume", &[&parts[0], &parts[1]]).expect("a key");
        let told = idempotent(["key", "order:consume", parts[0], parts[1]]);
        assert_eq!(told.ends_with(0).out, format!("{key}\n"));
    }
    let long = "x".repeat(300);
    let key = memory.key("p", &[&long]).expect("a key");
    assert_eq!(idempotent(["key", "p", &long]).out, format!("{key}\n"));

    let told = idempotent(["key", "order:init", "7", "--step", "init_token", "--namespace", "shop", "--json"]).json();
    assert_eq!(told["key"], "shop:order:init:7[init_token]");
    assert_eq!((&told["entity"], &told["step"]), (&"shop:order:init:7".into(), &"init_token".into()));
}

#[test]
fn a_hidden_key_needs_the_secret() {
    let secret = "32 random bytes from your vault.";
    let handle = Idempotency::builder().secret(secret).build(MemoryStore::new()).expect("a handle");
    let key = handle.hidden_key("welcome", &[&"ada@example.org"]).expect("a key");
    let told = idempotent(["key", "welcome", "ada@example.org", "--hidden", "--secret", secret]);
    assert_eq!(told.ends_with(0).out, format!("{key}\n"));
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), secret).expect("it can be written");
    let path = file.path().to_str().expect("a name in UTF-8");
    assert_eq!(idempotent(["key", "welcome", "ada@example.org", "--hidden", "--secret-file", path]).out, told.out);
    idempotent(["key", "welcome", "ada@example.org", "--hidden"]).ends_with(2);
    idempotent(["key", "welcome", "ada@example.org", "--hidden", "--secret", "short"]).ends_with(2);
}

#[test]
fn a_key_that_could_not_be_is_refused() {
    for wrong in [["key", "order*", "1"], ["key", "order:consume", ""], ["key", "", "1"]] {
        let refused = idempotent(wrong);
        refused.ends_with(2);
        assert!(refused.out.is_empty() && refused.err.starts_with("error: "), "{refused:?}");
    }
}

#[test]
fn what_makes_no_sense_is_said_before_anything_is_reached() {
    assert!(idempotent(["stats"]).ends_with(2).err.contains("IDEMPOTENT_URL"));
    idempotent(["stats", "--url", "ftp://nowhere"]).ends_with(2);
    idempotent(["list", "--url", "memory:", "--silent-for", "soon"]).ends_with(2);
    idempotent(["list", "--url", "memory:", "--state", "lost"]).ends_with(2);
    idempotent(["purge", "--url", "memory:", "--key", "a:1", "--prefix", "a", "--why", "w"]).ends_with(2);
    assert_eq!(idempotent(["list", "--url", "memory:", "--json"]).ends_with(0).out, "");
}

#[test]
fn a_store_that_is_away_is_told_with_its_reason() {
    let away = idempotent(["stats", "--url", "redis://127.0.0.1:1/"]);
    away.ends_with(1);
    assert!(away.err.contains("127.0.0.1:1"), "{away:?}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("none.db");
    idempotent(["stats", "--url", &format!("sqlite:{}", file.display())]).ends_with(1);
    assert!(!file.exists(), "looking makes no file");
}

#[test]
fn the_doctor_finds_what_is_serious() {
    let builder =
        Redis::builder(RedisBinary::System).args(["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
    let Some(server) = servers::needed(builder.start()) else { return };
    let url = server.url();
    let ran = idempotent(["doctor", "--url", &url, "--json"]);
    ran.ends_with(5);
    let looked: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&looked["serious"], &looked["concerns"][0]["severity"]), (&true.into(), &"serious".into()));
    let shown = idempotent(["doctor", "--url", &url]);
    shown.ends_with(5);
    assert!(shown.out.contains("allkeys-lru") && shown.out.contains("noeviction"), "{shown:?}");
    assert!(!shown.out.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn a_record_that_cannot_be_read_is_told_and_left_alone() {
    let Some(server) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let (url, key) = (server.url(), "order:consume:1001");
    server.cli(&["SET", key, "9c of a later version"]).expect("it is written");
    let on = |arguments: &[&str]| idempotent(arguments.iter().chain(&["--url", &url]));
    assert!(on(&["inspect", key]).ends_with(6).err.contains(key));
    let listed = on(&["list", "--state", "unreadable", "--json"]).lines();
    assert_eq!((listed.len(), &listed[0]["state"]), (1, &"unreadable".into()), "{listed:?}");
    assert_eq!(on(&["stats", "--json"]).json()["total"]["unreadable"], 1);
    let purged = on(&["purge", "--prefix", "order", "--why", "w", "--yes", "--force", "--json"]).json();
    assert_eq!((&purged["removed"], &purged["unreadable"]), (&0.into(), &1.into()), "{purged}");
    on(&["release", key, "--why", "w", "--yes"]).ends_with(6);
}

#[test]
fn help_tells_the_exit_codes_and_shells_are_completed() {
    let help = idempotent(["--help"]);
    assert!(help.ends_with(0).out.contains("Exit codes:"), "{help:?}");
    let help = idempotent(["dashboard", "--help"]);
    assert!(help.ends_with(0).out.contains("[default: 127.0.0.1:7077]"), "{help:?}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let completions = idempotent(["completions", shell]);
        assert!(completions.ends_with(0).out.contains("allow-one-more"), "{shell}");
    }
}
