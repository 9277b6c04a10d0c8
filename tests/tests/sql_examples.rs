//! The examples on SQL, run as a person runs them.

use std::process::{Command, Output};

use servers::{Postgres, Redis, RedisBinary, needed};

fn run(example: &str, server: &Postgres) -> String {
    run_with(example, ["--postgres", &server.url()])
}

fn run_with(example: &str, arguments: [&str; 2]) -> String {
    let Output { status, stdout, stderr } = Command::new(tests::example(example))
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{example}: {error}"));
    let said = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{example}: {said}{}", String::from_utf8_lossy(&stderr));
    said
}

#[test]
fn payments_are_made_once_whatever_becomes_of_their_answers() {
    let Some(server) = needed(Postgres::start()) else { return };
    let said = run("payments", &server);
    let lines: Vec<&str> = said.lines().collect();
    let [at_once, refused, lost, declined, sum] = lines[..] else { panic!("{said}") };
    assert!(at_once.ends_with("payment 1 and payment 1"), "{said}");
    assert!(refused.contains("the same key came with other arguments"), "{said}");
    assert!(lost.contains("payment 2 again, by second"), "{said}");
    // The declined one has used up no number: its insertion did not come about.
    assert!(declined.ends_with("payment 3"), "{said}");
    assert_eq!(sum, "3 payments, 5000 cents left");
}

#[test]
fn outbox_cooks_each_order_once_although_its_event_comes_twice() {
    let Some(server) = needed(Postgres::start()) else { return };
    for _ in 0..2 {
        let said = run("outbox", &server);
        assert!(said.contains("40 clicks on 20 carts"), "{said}");
        assert!(said.contains("20 dishes cooked, "), "{said}");
    }
}

#[test]
fn double_check_consumes_each_order_once_although_consumers_die_and_redis_forgets() {
    let Some(redis) = needed(Redis::start(RedisBinary::System)) else { return };
    for _ in 0..2 {
        let said = run_with("double_check", ["--redis", &redis.url()]);
        let lines: Vec<&str> = said.lines().map(str::trim).collect();
        let [_, executed, existing, killed, replayed, _, asked, end] = lines[..] else { panic!("{said}") };
        // A third of the first consumers dies before the order is consumed, and a third after it.
        assert_eq!((killed, executed, existing, replayed), ("8 killed", "8 executed", "4 existing", "12 replayed"));
        assert_eq!((asked, end), ("12 existing", "12 orders consumed, each once"));
    }
}
