//! A primary that Sentinels watch: the contract, and failovers in the middle of calls.

use std::time::{Duration, Instant};

use idempotent_runtime::Token;
use idempotent_runtime::store::{ClaimAnswer, CompleteAnswer, RedisStore};
use servers::{Reached, Redis, RedisBinary, Sentinels};

use crate::conformance::{Under, every_case_holds};
use crate::crowd::Crowd;
use crate::support::{FIRST, at_last, builder, claim, complete, key, refused, store, unavailable, until, within_bound};

/// A Sentinel sees after 1 s that the primary is gone, and the failover itself took up to 1.5 s more here.
const FAILOVER: Duration = Duration::from_millis(2500);

const RECOVERY: Duration = Duration::from_secs(2);

fn sentinels() -> Option<Sentinels> {
    servers::needed(Sentinels::start())
}

#[test]
fn the_contract_holds_behind_sentinels() {
    let Some(sentinels) = sentinels() else { return };
    let primary = sentinels.primary().expect("there is one");
    every_case_holds(&sentinels.url(), primary, Under::Keys);
    every_case_holds(&sentinels.url(), primary, Under::Steps);
}

#[tokio::test]
async fn any_sentinel_that_answers_is_enough() {
    let Some(sentinels) = sentinels() else { return };
    sentinels.kill_sentinel(0).expect("it dies");
    sentinels.kill_sentinel(1).expect("it dies");
    let store = store(&sentinels.url()).await;
    assert_eq!(claim(&store, &key(), Token::random()).await.expect("an answer"), FIRST);
    sentinels.kill_sentinel(2).expect("it dies");
    assert_eq!(claim(&store, &key(), Token::random()).await.expect("who is connected stays so"), FIRST);
    let error = unavailable(within_bound(builder().connect(&sentinels.url())).await);
    assert!(
        error.to_string().contains("cannot connect to the primary `orders` of the Sentinels 127.0.0.1:"),
        "{error}"
    );
}

#[tokio::test]
async fn a_name_that_no_sentinel_knows_is_refused() {
    let Some(sentinels) = sentinels() else { return };
    let url = sentinels.url().replace("/orders", "/payments");
    let error = refused(within_bound(RedisStore::connect(&url)).await);
    assert!(error.to_string().contains("knows no primary named `payments`"), "{error}");
}

#[tokio::test]
async fn callers_leave_a_primary_that_was_demoted() {
    let Some(sentinels) = sentinels() else { return };
    let store = store(&sentinels.url()).await;
    let (key, token) = (key(), Token::random());
    assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
    sentinels.fail_over().expect("another takes over");
    let started = Instant::now();
    let answer = at_last(async || complete(&store, &key, token).await).await;
    assert!(started.elapsed() < RECOVERY, "{:?}", started.elapsed());
    assert_eq!(answer, CompleteAnswer::Held, "the claim was replicated before");
    let answer = claim(&store, &key, Token::random()).await.expect("an answer");
    assert!(matches!(answer, ClaimAnswer::Completed(_)), "{answer:?}");
    let primary = sentinels.primary().expect("there is one");
    assert!(crate::support::text(primary, &key).is_some(), "it is at the new primary");
}

#[tokio::test]
async fn the_sentinels_have_a_password_of_their_own() {
    let settings = Redis::builder(RedisBinary::System);
    let Some(sentinels) = servers::needed(Sentinels::start_reached(&settings, Reached::Directly, Some("s3ntinel")))
    else {
        return;
    };
    let given = || builder().sentinel_password("s3ntinel");
    let store = within_bound(given().connect(&sentinels.url())).await.expect("they know it");
    assert_eq!(claim(&store, &key(), Token::random()).await.expect("an answer"), FIRST);
    sentinels.fail_over().expect("another takes over");
    let answer = at_last(async || claim(&store, &key(), Token::random()).await).await;
    assert_eq!(answer, FIRST, "they are asked again, with it");

    // None, or another, is refused in their words; it is not that of the servers.
    for (asking, words) in [(builder(), "NOAUTH"), (builder().sentinel_password("other"), "WRONGPASS")] {
        let error = refused(within_bound(asking.connect(&sentinels.url())).await).to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// One that is replaced while it lives goes on as a primary until the Sentinels get round to it, which takes them some
/// seconds. With this setting it takes no writes meanwhile, and says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_leave_a_primary_that_its_replicas_have_left() {
    let settings = Redis::builder(RedisBinary::System).args(["--min-replicas-to-write", "1"]);
    let Some(sentinels) = servers::needed(Sentinels::start_reached(&settings, Reached::Directly, None)) else { return };
    let crowd = Crowd::call(&sentinels.url()).await;
    crowd.recovery().await;
    let old = sentinels.primary().expect("there is one").port();
    sentinels.fail_over().expect("another takes over");
    let new = sentinels.primary().expect("there is one");
    assert_ne!(new.port(), old);
    let followed = |server: &Redis| server.cli(&["INFO", "replication"]).expect("it answers").to_string();
    until("the new one has a replica", || followed(new).contains("state=online")).await;
    let recovery = crowd.recovery().await;
    assert!(recovery < RECOVERY, "{recovery:?}");
    let refused = crowd.refused();
    crowd.recovery().await;
    println!("asked for: {recovery:?}, {refused} refused; {}", crowd.end().await);
}

/// A crowd calls while the primary goes away and another is promoted.
async fn calls_go_on(fault: impl FnOnce(&Sentinels), back: impl FnOnce(&Sentinels)) {
    let Some(sentinels) = sentinels() else { return };
    let crowd = Crowd::call(&sentinels.url()).await;
    crowd.recovery().await;
    fault(&sentinels);
    let outage = crowd.recovery().await;
    assert!(outage < FAILOVER + RECOVERY, "{outage:?}");
    back(&sentinels);
    sentinels.wait_until_followed().expect("the old primary follows the new one");
    crowd.recovery().await;
    let seen = crowd.end().await;
    let primary = sentinels.primary().expect("there is one");
    let record = |key: &str| primary.cli(&["GET", key]).expect("an answer").text().map(str::to_owned);
    let lost = seen.no_run_was_repeated_but_for_lost_writes(record);
    println!("calls went on after {outage:?}; {lost} acknowledged writes lost; {seen}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_on_after_a_primary_was_killed() {
    let killed = std::cell::Cell::new(0);
    let at = |all: &Sentinels| {
        let port = all.primary().expect("there is one").port();
        all.servers().iter().position(|server| server.port() == port).expect("it is one of them")
    };
    calls_go_on(
        |all| {
            killed.set(at(all));
            all.servers()[killed.get()].kill().expect("it dies");
        },
        |all| all.servers()[killed.get()].restart().expect("it starts again"),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_on_after_a_primary_stood_still() {
    calls_go_on(|all| all.servers()[0].stop().expect("it stops"), |all| all.servers()[0].cont().expect("it goes on"))
        .await;
}
