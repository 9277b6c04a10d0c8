//! The steps of an entity: fields of one Hash, which may be the application's own.

use std::time::Duration;

use idempotent_runtime::store::{Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, RedisStore, Release, Retention};
use idempotent_runtime::{Key, Store as _, Token};
use servers::{Redis, RedisBinary};

use crate::support::{
    FIRST, KEPT, LEASE, builder, claim, complete, key, renew, request, result, store, text, until, within_bound,
};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// Tries something on each server.
async fn on_each(test: impl AsyncFn(&Redis, &RedisStore)) {
    for &binary in RedisBinary::ALL {
        let Some(server) = servers::needed(Redis::start(binary)) else { continue };
        let store = store(&server.url()).await;
        test(&server, &store).await;
    }
}

/// Two steps of a new entity.
fn steps() -> (Key, Key) {
    let order = key();
    let step = |name| order.with_step(name).expect("a good name");
    (step("init_token"), step("payment_status"))
}

fn field(server: &Redis, key: &Key) -> Option<String> {
    let step = key.step().expect("a step");
    server.cli(&["HGET", key.entity(), step]).expect("the server answers").text().map(str::to_owned)
}

/// A field's record, without the time in front of it.
fn record(server: &Redis, key: &Key) -> String {
    let text = field(server, key).expect("there is a record");
    let (time, record) = text.split_once(' ').expect("a time and a record");
    assert!(time.strip_prefix("until=").is_some_and(|time| time.parse::<u64>().is_ok()), "{text}");
    record.to_owned()
}

fn number(server: &Redis, command: &[&str]) -> i64 {
    server.cli(command).expect("the server answers").integer().expect("a number")
}

/// What is left of the entity's time, in ms.
fn left(server: &Redis, key: &Key) -> i64 {
    number(server, &["PTTL", key.entity()])
}

/// A first call keeps the entity for a little longer than its claim, so that its completion need not lengthen it.
const AHEAD: i64 = 15_000;

#[track_caller]
fn about(left: i64, expected: Duration) {
    let expected = i64::try_from(expected.as_millis()).expect("some days");
    assert!((expected - 60_000..=expected + AHEAD).contains(&left), "{left} ms are left of {expected}");
}

async fn complete_for(store: &RedisStore, key: &Key, kept: Retention) {
    let token = Token::random();
    let claim = ClaimRequest { token, retention: kept, held: kept, lease: LEASE, ..request(token) };
    assert_eq!(within_bound(store.claim(key, &claim)).await.expect("an answer"), FIRST);
    let completed = within_bound(store.complete(key, token, &result("1"), kept)).await;
    assert_eq!(completed.expect("an answer"), CompleteAnswer::Held);
}

#[tokio::test]
async fn an_entity_is_a_hash_that_a_person_can_read() {
    on_each(async |server, store| {
        let (first, second) = steps();
        let (token, other) = (Token::random(), Token::random());
        let owner = "kitchen-1:71 AAAAAAAAAAAAAAAAAAAAAH";
        assert_eq!(claim(store, &first, token).await.expect("an answer"), FIRST);
        assert_eq!(record(server, &first), format!("1p {token}@{owner} lease=30000/86400000 begun new"));
        complete(store, &first, token).await.expect("an answer");
        assert_eq!(record(server, &first), format!("1c {token}@{owner} ={{\"receipt\":7}}"));
        assert_eq!(claim(store, &second, other).await.expect("an answer"), FIRST);
        within_bound(store.release(&second, other, Release::Failed("declined"), LEASE)).await.expect("an answer");
        assert_eq!(record(server, &second), format!("1f {other}@{owner} failed: declined"));
        assert_eq!(number(server, &["HLEN", first.entity()]), 2);
        assert_eq!(text(server, &first), None, "nothing stands elsewhere");
    })
    .await;
}

#[tokio::test]
async fn whoever_completes_a_step_leaves_the_same_record() {
    on_each(async |server, here| {
        let elsewhere = store(&server.url()).await;
        let completed_by = async |completes: &_| {
            let ((step, _), token) = (steps(), Token::random());
            claim(here, &step, token).await.expect("an answer");
            assert_eq!(complete(completes, &step, token).await.expect("an answer"), CompleteAnswer::Held);
            record(server, &step).replace(token.text().as_str(), "TOKEN")
        };
        let record = completed_by(here).await;
        assert_eq!(record, "1c TOKEN@kitchen-1:71 AAAAAAAAAAAAAAAAAAAAAH ={\"receipt\":7}");
        assert_eq!(completed_by(&elsewhere).await, record);
    })
    .await;
}

#[tokio::test]
async fn the_time_of_an_entity_is_only_made_longer() {
    on_each(async |server, store| {
        let (first, second) = steps();
        complete_for(store, &first, Retention::For(HOUR)).await;
        about(left(server, &first), HOUR);
        complete_for(store, &second, Retention::For(HOUR / 2)).await;
        about(left(server, &first), HOUR);
        let third = first.with_step("receipt").expect("a good name");
        complete_for(store, &third, Retention::For(DAY)).await;
        about(left(server, &first), DAY);
        let fourth = first.with_step("archive").expect("a good name");
        complete_for(store, &fourth, Retention::Forever).await;
        assert_eq!(left(server, &first), -1);
        let fifth = first.with_step("late").expect("a good name");
        complete_for(store, &fifth, Retention::For(HOUR)).await;
        assert_eq!(left(server, &first), -1, "what is kept for ever stays");
    })
    .await;
}

#[tokio::test]
async fn a_release_leaves_the_entity_where_it_is() {
    on_each(async |server, store| {
        let ((first, second), token) = (steps(), Token::random());
        complete_for(store, &first, KEPT).await;
        let before = field(server, &first);
        claim(store, &second, token).await.expect("an answer");
        within_bound(store.put_back(&second, token, LEASE, None)).await.expect("an answer");
        assert_eq!(
            within_bound(store.release(&second, token, Release::GivenUp, LEASE)).await.expect("an answer"),
            Answer::Held
        );
        assert_eq!(field(server, &first), before);
        about(left(server, &first), DAY);
    })
    .await;
}

#[tokio::test]
async fn a_hash_of_the_applications_own_never_expires_by_us() {
    on_each(async |server, store| {
        let ((first, second), token) = (steps(), Token::random());
        server.cli(&["HSET", first.entity(), "total", "12.30", "note", ""]).expect("the server answers");
        complete_for(store, &first, Retention::For(HOUR)).await;
        claim(store, &second, token).await.expect("an answer");
        assert_eq!(within_bound(store.begin(&second, token)).await.expect("an answer"), Answer::Held);
        assert_eq!(renew(store, &second, token).await.expect("an answer"), Answer::Held);
        within_bound(store.release(&second, token, Release::Failed("declined"), LEASE)).await.expect("an answer");
        assert_eq!(left(server, &first), -1);
        let total = server.cli(&["HGET", first.entity(), "total"]).expect("the server answers");
        assert_eq!(total.text(), Some("12.30"));
        assert_eq!(number(server, &["HEXISTS", first.entity(), "note"]), 1);
    })
    .await;
}

#[tokio::test]
async fn a_time_that_the_application_set_is_only_made_longer() {
    on_each(async |server, store| {
        let (first, second) = steps();
        server.cli(&["HSET", first.entity(), "total", "12.30"]).expect("the server answers");
        server.cli(&["EXPIRE", first.entity(), "86400"]).expect("the server answers");
        complete_for(store, &first, Retention::For(HOUR)).await;
        about(left(server, &first), DAY);
        complete_for(store, &second, Retention::For(2 * DAY)).await;
        about(left(server, &first), 2 * DAY);
    })
    .await;
}

#[tokio::test]
async fn a_field_past_its_time_counts_as_absent_while_it_is_still_there() {
    on_each(async |server, store| {
        let (over, other) = (Token::random(), Token::random());
        for record in [format!("1c {over}@a - =1"), format!("1p {over}@a - lease=1/2 begun new")] {
            let stale = || spoil(server, &format!("until=1764500000000 {record}")).0;
            let step = stale();
            assert!(
                within_bound(store.admin().expect("it has one").inspect(&step)).await.expect("an answer").is_none()
            );
            assert_eq!(within_bound(store.begin(&step, over)).await.expect("an answer"), Answer::Lost);
            assert_eq!(renew(store, &step, over).await.expect("an answer"), Answer::Lost);
            assert_eq!(complete(store, &step, over).await.expect("an answer"), CompleteAnswer::Absent);
            assert!(field(server, &step).is_some(), "it is still there");
            assert_eq!(claim(store, &step, other).await.expect("an answer"), FIRST);
            let fenced = ClaimRequest { fenced: true, ..request(other) };
            let answer = within_bound(store.claim(&stale(), &fenced)).await.expect("an answer");
            assert!(matches!(answer, ClaimAnswer::Acquired(acquired) if acquired.attempt == 1), "{record}");
        }
    })
    .await;
}

/// The server's time, in ms.
fn now(server: &Redis) -> i64 {
    let time = server.cli(&["TIME"]).expect("the server answers");
    let part = |at: usize| time.list()[at].text().and_then(|text| text.parse::<i64>().ok()).expect("a number");
    part(0) * 1000 + part(1) / 1000
}

#[tokio::test]
async fn a_completed_step_is_kept_for_its_time_by_the_servers_clock() {
    on_each(async |server, store| {
        // The first is left to the server, the second is counted on from the claim.
        for kept in [Duration::from_secs(30), HOUR] {
            let ((step, _), token) = (steps(), Token::random());
            claim(store, &step, token).await.expect("an answer");
            let before = now(server);
            let completed = within_bound(store.complete(&step, token, &result("1"), Retention::For(kept))).await;
            assert_eq!(completed.expect("an answer"), CompleteAnswer::Held);
            let after = now(server);
            let text = field(server, &step).expect("there is a record");
            let until = text.strip_prefix("until=").and_then(|text| text.split(' ').next()?.parse::<i64>().ok());
            let written = until.expect("a time") - i64::try_from(kept.as_millis()).expect("an hour");
            assert!((before - 100..=after).contains(&written), "{written} is not from {before} to {after}: {text}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_became_of_a_claim_meanwhile_is_not_overlooked_by_its_completion() {
    on_each(async |server, store| {
        let completed = async |step: &Key, token| complete(store, step, token).await.expect("an answer");
        let claimed = async || {
            let ((step, _), token) = (steps(), Token::random());
            claim(store, &step, token).await.expect("an answer");
            (step, token)
        };
        let (step, token) = claimed().await;
        assert_eq!(renew(store, &step, token).await.expect("an answer"), Answer::Held);
        assert_eq!(completed(&step, token).await, CompleteAnswer::Held);
        let before = field(server, &step);
        assert_eq!(completed(&step, token).await, CompleteAnswer::Held);
        assert_eq!(field(server, &step), before, "its time does not start again");

        let (step, token) = claimed().await;
        server.cli(&["HDEL", step.entity(), "init_token"]).expect("the server answers");
        assert_eq!(completed(&step, token).await, CompleteAnswer::Absent);
        assert_eq!(field(server, &step), None);

        let (step, token) = claimed().await;
        let owned = field(server, &step).expect("a record").replace(token.text().as_str(), "AAAAAAAAAAAAAAAAAAAAAA");
        let given_up = owned.replace(" 1p ", " 1g ");
        for text in [owned, given_up, String::new(), "paid".to_owned()] {
            let (step, token) = claimed().await;
            server.cli(&["HSET", step.entity(), "init_token", &text]).expect("the server answers");
            assert_eq!(completed(&step, token).await, CompleteAnswer::Lost(None), "{text}");
            assert_eq!(field(server, &step), Some(text));
        }
    })
    .await;
}

#[tokio::test]
async fn where_the_server_can_a_field_expires_by_itself() {
    for binary in [RedisBinary::Redis8_2, RedisBinary::Valkey9_1] {
        let Some(server) = servers::needed(Redis::start(binary)) else { continue };
        let (store, (step, _), token) = (store(&server.url()).await, steps(), Token::random());
        let left = || {
            let times = server.cli(&["HPTTL", step.entity(), "FIELDS", "1", "init_token"]).expect("the server answers");
            times.list().first().and_then(servers::Reply::integer).expect("a number")
        };
        claim(&store, &step, token).await.expect("an answer");
        about(left(), DAY);
        renew(&store, &step, token).await.expect("an answer");
        about(left(), DAY);
        within_bound(store.complete(&step, token, &result("1"), Retention::For(HOUR))).await.expect("an answer");
        about(left(), HOUR);
        let supersede = ClaimRequest { supersede: Some(token), ..request(Token::random()) };
        within_bound(store.claim(&step, &supersede)).await.expect("an answer");
        about(left(), DAY);
        within_bound(store.complete(&step, supersede.token, &result("1"), Retention::Forever))
            .await
            .expect("an answer");
        assert_eq!(left(), -1, "it is kept for ever");

        // And an entity of nothing but such fields goes with them.
        let (step, _) = steps();
        claim(&store, &step, token).await.expect("an answer");
        let brief = Retention::For(Duration::from_millis(30));
        within_bound(store.complete(&step, token, &result("1"), brief)).await.expect("an answer");
        until("the entity is gone", || number(&server, &["EXISTS", step.entity()]) == 0).await;
    }
}

#[tokio::test]
async fn a_server_that_does_not_allow_fields_to_expire_is_used_all_the_same() {
    for binary in [RedisBinary::Redis8_2, RedisBinary::Valkey9_1] {
        let Some(server) = servers::needed(Redis::start(binary)) else { continue };
        let user = ["ACL", "SETUSER", "shop", "on", ">secret", "~*", "&*", "+@all", "-hpexpire"];
        server.cli(&user).expect("the server answers");
        let url = server.url().replace("redis://", "redis://shop:secret@");
        let store = builder().connect(&url).await.expect("the user may log in");
        let (step, _) = steps();
        complete_for(&store, &step, KEPT).await;
        about(left(&server, &step), DAY);
        let answer = claim(&store, &step, Token::random()).await.expect("an answer");
        assert!(matches!(answer, ClaimAnswer::Completed(_)), "{answer:?}");
    }
}

#[tokio::test]
async fn a_field_that_is_no_record_is_unreadable_and_stays() {
    on_each(async |server, store| {
        let token = Token::random();
        let record = format!("1c {token}@a - =1");
        // The control.
        let (good, _) = spoil(server, &format!("until=forever {record}"));
        let answer = claim(store, &good, Token::random()).await.expect("an answer");
        assert!(matches!(answer, ClaimAnswer::Completed(_)), "{answer:?}");
        for value in [
            String::new(),
            "open".to_owned(),
            record.clone(),
            format!("until= {record}"),
            format!("until=1e99 {record}"),
            format!("until=forever{record}"),
            "until=forever ".to_owned(),
            "until=9999999999999 open".to_owned(),
            format!("until=9999999999999 2{}", &record[1..]),
            format!("until=forever 1p {token}@a - lease=30000/86400000 begun new"),
        ] {
            let (step, before) = spoil(server, &value);
            for fenced in [false, true] {
                for token in [token, Token::random()] {
                    let answer = within_bound(store.claim(&step, &ClaimRequest { fenced, ..request(token) })).await;
                    let unreadable = matches!(&answer, Ok(ClaimAnswer::Unreadable(why)) if why.contains(step.entity()));
                    assert!(unreadable, "{value:?}: {answer:?}");
                }
            }
            assert_eq!(within_bound(store.begin(&step, token)).await.expect("an answer"), Answer::Lost, "{value}");
            let error = within_bound(store.admin().expect("it has one").inspect(&step)).await.expect_err("unreadable");
            assert!(error.to_string().contains(step.entity()), "{error}");
            assert_eq!(field(server, &step), before);
        }
    })
    .await;
}

/// A step whose field is written by somebody else.
fn spoil(server: &Redis, value: &str) -> (Key, Option<String>) {
    let (step, _) = steps();
    server.cli(&["HSET", step.entity(), "init_token", value]).expect("the server answers");
    let before = field(server, &step);
    (step, before)
}

#[tokio::test]
async fn another_type_at_the_entity_is_unreadable_and_never_absent() {
    on_each(async |server, store| {
        let ((step, _), token) = (steps(), Token::random());
        server.cli(&["SET", step.entity(), "somebody else's"]).expect("the server answers");
        for fenced in [false, true] {
            let answer = within_bound(store.claim(&step, &ClaimRequest { fenced, ..request(token) })).await;
            let Ok(ClaimAnswer::Unreadable(why)) = answer else { panic!("{answer:?}") };
            assert!(why.contains(step.as_str()) && why.contains("WRONGTYPE"), "{why}");
        }
        assert_eq!(within_bound(store.begin(&step, token)).await.expect("an answer"), Answer::Lost);
        assert_eq!(renew(store, &step, token).await.expect("an answer"), Answer::Lost);
        assert_eq!(complete(store, &step, token).await.expect("an answer"), CompleteAnswer::Lost(None));
        let release = store.release(&step, token, Release::Failed("declined"), LEASE);
        assert_eq!(within_bound(release).await.expect("an answer"), Answer::Lost);
        assert_eq!(within_bound(store.put_back(&step, token, LEASE, None)).await.expect("an answer"), Answer::Lost);
        let error = within_bound(store.admin().expect("it has one").inspect(&step)).await.expect_err("unreadable");
        assert!(error.to_string().contains(step.as_str()), "{error}");
        assert_eq!(number(server, &["STRLEN", step.entity()]), 15);
    })
    .await;
}

#[tokio::test]
async fn a_step_and_a_whole_key_of_one_name_are_no_duplicates_of_each_other() {
    on_each(async |_, store| {
        let (step, _) = steps();
        let whole = Key::from_text(step.entity());
        complete_for(store, &whole, KEPT).await;
        let answer = claim(store, &step, Token::random()).await.expect("an answer");
        assert!(matches!(answer, ClaimAnswer::Unreadable(_)), "{answer:?}");
        let (step, _) = steps();
        complete_for(store, &step, KEPT).await;
        let answer = claim(store, &Key::from_text(step.entity()), Token::random()).await.expect("an answer");
        assert!(matches!(answer, ClaimAnswer::Unreadable(_)), "{answer:?}");
    })
    .await;
}

#[tokio::test]
async fn the_scripts_of_steps_are_loaded_again_where_they_were_forgotten() {
    on_each(async |server, store| {
        let flush = || server.cli(&["SCRIPT", "FLUSH"]).expect("the scripts are gone");
        let ((step, _), token) = (steps(), Token::random());
        flush();
        assert_eq!(claim(store, &step, token).await.expect("an answer"), FIRST);
        flush();
        assert_eq!(claim(store, &step, token).await.expect("by the script"), FIRST);
        flush();
        assert_eq!(within_bound(store.begin(&step, token)).await.expect("an answer"), Answer::Held);
        flush();
        assert_eq!(renew(store, &step, token).await.expect("an answer"), Answer::Held);
        flush();
        assert_eq!(complete(store, &step, token).await.expect("an answer"), CompleteAnswer::Held);
        flush();
        let release = store.release(&step, token, Release::GivenUp, LEASE);
        assert_eq!(within_bound(release).await.expect("an answer"), Answer::Lost);
    })
    .await;
}
