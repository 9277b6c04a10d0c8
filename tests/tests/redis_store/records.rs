//! What stands in Redis: readable, small, and never mistaken for what it is not.

use std::time::Duration;

use idempotent_runtime::store::{Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Release, Retention};
use idempotent_runtime::{Key, Store as _, Token};
use servers::Redis;

use crate::support::{
    FIRST, KEPT, LEASE, claim, complete, key, redis, renew, request, result, store, text, within_bound,
};

fn number(server: &Redis, command: &[&str]) -> i64 {
    server.cli(command).expect("the server answers").integer().expect("a number")
}

#[tokio::test]
async fn a_record_is_a_line_that_a_person_can_read() {
    let Some(server) = redis() else { return };
    let (store, key, token) = (store(&server.url()).await, key(), Token::random());
    let shown = || text(&server, &key).expect("there is a record");
    assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
    let fingerprint = "AAAAAAAAAAAAAAAAAAAAAH";
    assert_eq!(shown(), format!("1p {token}@kitchen-1:71 {fingerprint} lease=30000/86400000 begun new"));
    within_bound(store.release(&key, token, Release::Failed("card declined"), LEASE)).await.expect("an answer");
    assert_eq!(shown(), format!("1f {token}@kitchen-1:71 {fingerprint} failed: card declined"));
    let second = Token::random();
    claim(&store, &key, second).await.expect("an answer");
    assert_eq!(
        shown(),
        format!("1p {second}#2@kitchen-1:71 {fingerprint} lease=30000/86400000 begun after-failed|card declined")
    );
    complete(&store, &key, second).await.expect("an answer");
    assert_eq!(shown(), format!("1c {second}#2@kitchen-1:71 {fingerprint} ={{\"receipt\":7}}"));
}

#[tokio::test]
async fn whoever_completes_a_claim_leaves_the_same_record() {
    let Some(server) = redis() else { return };
    let (here, elsewhere) = (store(&server.url()).await, store(&server.url()).await);
    let completed_by = async |completes: &_| {
        let (key, token) = (key(), Token::random());
        claim(&here, &key, token).await.expect("an answer");
        assert_eq!(complete(completes, &key, token).await.expect("an answer"), CompleteAnswer::Held);
        text(&server, &key).expect("there is a record").replace(token.text().as_str(), "TOKEN")
    };
    let record = completed_by(&here).await;
    assert_eq!(record, "1c TOKEN@kitchen-1:71 AAAAAAAAAAAAAAAAAAAAAH ={\"receipt\":7}");
    assert_eq!(completed_by(&elsewhere).await, record);
}

#[tokio::test]
async fn a_record_takes_no_more_than_1_6_times_the_bare_result() {
    let Some(server) = redis() else { return };
    let store = store(&server.url()).await;
    let (record, plain) = (Key::from_text("shop:order:consume:20260827:10"), "shop:order:consume:20260827:11");
    let json = "{\"receipt\":1234567890,\"total\":\"12.3EUR\"}";
    assert_eq!((record.as_str().len(), plain.len(), json.len()), (30, 30, 40));
    let token = Token::random();
    // An owner as a container gives it: the host's twelve digits, and the process.
    let claim = ClaimRequest { owner: "9f86d081884c:1234", ..request(token) };
    assert_eq!(within_bound(store.claim(&record, &claim)).await.expect("an answer"), FIRST);
    let completed = within_bound(store.complete(&record, token, &result(json), KEPT)).await;
    assert_eq!(completed.expect("an answer"), CompleteAnswer::Held);
    server.cli(&["SET", plain, json, "PX", "86400000"]).expect("the server answers");
    let (record, plain) = (["MEMORY", "USAGE", record.as_str()], ["MEMORY", "USAGE", plain]);
    let (record, plain) = (number(&server, &record), number(&server, &plain));
    assert!(record * 10 <= plain * 16, "{record} bytes against {plain}");
}

#[tokio::test]
async fn a_completed_record_has_its_ttl_and_one_in_progress_its_retention() {
    let Some(server) = redis() else { return };
    let (store, key, token) = (store(&server.url()).await, key(), Token::random());
    claim(&store, &key, token).await.expect("an answer");
    let left = || number(&server, &["PTTL", key.as_str()]);
    assert!((86_300_000..=86_400_000).contains(&left()), "{}", left());
    let hour = Retention::For(Duration::from_hours(1));
    within_bound(store.complete(&key, token, &result("1"), hour)).await.expect("an answer");
    assert!((3_500_000..=3_600_000).contains(&left()), "{}", left());

    let key = crate::support::key();
    let forever = ClaimRequest { retention: Retention::Forever, held: Retention::Forever, ..request(token) };
    within_bound(store.claim(&key, &forever)).await.expect("an answer");
    let years = number(&server, &["PTTL", key.as_str()]) / (365 * 24 * 60 * 60 * 1000);
    assert!((99..=100).contains(&years), "{years} years");
    within_bound(store.complete(&key, token, &result("1"), Retention::Forever)).await.expect("an answer");
    assert_eq!(number(&server, &["PTTL", key.as_str()]), -1);
}

#[tokio::test]
async fn only_a_run_that_has_begun_is_held() {
    let Some(server) = redis() else { return };
    let (store, key, token) = (store(&server.url()).await, key(), Token::random());
    let left = || number(&server, &["PTTL", key.as_str()]);
    let years = || left() / (365 * 24 * 60 * 60 * 1000);
    let held = ClaimRequest { held: Retention::Forever, begun: false, ..request(token) };
    within_bound(store.claim(&key, &held)).await.expect("an answer");
    let shown = text(&server, &key).expect("there is a record");
    assert!(shown.ends_with(" lease=30000/86400000/3153600000000 claimed new"), "{shown}");
    assert!((86_300_000..=86_400_000).contains(&left()), "{}", left());
    assert_eq!(within_bound(store.begin(&key, token)).await.expect("an answer"), Answer::Held);
    assert!((99..=100).contains(&years()), "{} years", years());
    assert_eq!(renew(&store, &key, token).await.expect("an answer"), Answer::Held);
    assert!((99..=100).contains(&years()), "{} years", years());
    within_bound(store.release(&key, token, Release::Failed("card declined"), LEASE)).await.expect("an answer");
    assert!((86_300_000..=86_400_000).contains(&left()), "a failure is nobody's to resolve: {}", left());
}

#[tokio::test]
async fn another_type_at_the_key_is_unreadable_and_never_absent() {
    let Some(server) = redis() else { return };
    let (store, key, token) = (store(&server.url()).await, key(), Token::random());
    server.cli(&["RPUSH", key.as_str(), "somebody else's"]).expect("the server answers");
    for fenced in [false, true] {
        let answer = within_bound(store.claim(&key, &ClaimRequest { fenced, ..request(token) })).await;
        let Ok(ClaimAnswer::Unreadable(why)) = answer else { panic!("{answer:?}") };
        assert!(why.contains(key.as_str()) && why.contains("WRONGTYPE"), "{why}");
    }
    assert_eq!(within_bound(store.begin(&key, token)).await.expect("an answer"), Answer::Lost);
    assert_eq!(renew(&store, &key, token).await.expect("an answer"), Answer::Lost);
    assert_eq!(complete(&store, &key, token).await.expect("an answer"), CompleteAnswer::Lost(None));
    let release = store.release(&key, token, Release::Failed("declined"), LEASE);
    assert_eq!(within_bound(release).await.expect("an answer"), Answer::Lost);
    assert_eq!(within_bound(store.put_back(&key, token, LEASE, None)).await.expect("an answer"), Answer::Lost);
    let error = within_bound(store.admin().expect("it has one").inspect(&key)).await.expect_err("unreadable");
    assert!(error.to_string().contains(key.as_str()), "{error}");
    assert_eq!(number(&server, &["LLEN", key.as_str()]), 1);
}

#[tokio::test]
async fn a_claim_whose_expiry_was_removed_is_unreadable_until_its_owner_renews() {
    let Some(server) = redis() else { return };
    let (store, key, token) = (store(&server.url()).await, key(), Token::random());
    claim(&store, &key, token).await.expect("an answer");
    assert_eq!(number(&server, &["PERSIST", key.as_str()]), 1);
    let answer = claim(&store, &key, Token::random()).await.expect("an answer");
    assert!(matches!(&answer, ClaimAnswer::Unreadable(why) if why.contains("PERSIST")), "{answer:?}");
    assert_eq!(renew(&store, &key, token).await.expect("an answer"), Answer::Held);
    let answer = claim(&store, &key, Token::random()).await.expect("an answer");
    assert!(matches!(answer, ClaimAnswer::InProgress { .. }), "{answer:?}");
}

#[tokio::test]
async fn a_value_that_is_no_record_is_unreadable_and_stays() {
    let Some(server) = redis() else { return };
    let (store, token) = (store(&server.url()).await, Token::random());
    let spoilt = [
        String::new(),
        "1".to_owned(),
        "{\"state\":\"done\"}".to_owned(),
        format!("2p {token}@a - lease=1/2 begun new"),
        format!("1p {token}@a - lease=30000 begun new"),
        format!("1p {token}@a - lease=30000/86400000 begun"),
        format!("1c {token}@a - "),
        format!("1f {token}@a - gone"),
    ];
    for value in spoilt {
        let key = key();
        server.cli(&["SET", key.as_str(), &value, "PX", "60000"]).expect("the server answers");
        for fenced in [false, true] {
            for token in [token, Token::random()] {
                let answer = within_bound(store.claim(&key, &ClaimRequest { fenced, ..request(token) })).await;
                assert!(matches!(answer, Ok(ClaimAnswer::Unreadable(_))), "{value:?}: {answer:?}");
            }
        }
        assert_eq!(text(&server, &key), Some(value));
    }
}

#[tokio::test]
async fn a_binary_result_comes_back_byte_for_byte() {
    let Some(server) = redis() else { return };
    let (store, key, token) = (store(&server.url()).await, key(), Token::random());
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let packed = idempotent_runtime::Encoded {
        codec: const { idempotent_runtime::CodecTag::new("packed") },
        bytes: bytes.into(),
    };
    let packed = idempotent_runtime::Recorded::Value(packed);
    claim(&store, &key, token).await.expect("an answer");
    within_bound(store.complete(&key, token, &packed, KEPT)).await.expect("an answer");
    let answer = claim(&store, &key, Token::random()).await.expect("an answer");
    assert!(matches!(answer, ClaimAnswer::Completed(record) if record.result == packed));
}
