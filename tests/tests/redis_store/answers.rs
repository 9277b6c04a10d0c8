//! Hazards 1 and 7: answers that are lost or late, and scripts that the server has forgotten.

use idempotent_runtime::store::{Answer, ClaimAnswer, CompleteAnswer, Release};
use idempotent_runtime::{Store as _, Token};
use servers::Proxy;

use crate::support::{
    FIRST, LEASE, at_last, claim, complete, key, redis, renew, store, text, unavailable, until, within_bound,
};

#[tokio::test]
async fn a_claim_that_is_applied_after_its_time_out_is_the_calls_own() {
    let Some(server) = redis() else { return };
    let (store, key, token) = (store(&server.url()).await, key(), Token::random());
    server.stop().expect("the server stops");
    unavailable(claim(&store, &key, token).await);
    server.cont().expect("the server goes on");
    until("the late claim is applied", || text(&server, &key).is_some()).await;

    let other = at_last(async || claim(&store, &key, Token::random()).await).await;
    assert!(matches!(other, ClaimAnswer::InProgress { attempt: 1, .. }), "{other:?}");
    assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
    assert_eq!(complete(&store, &key, token).await.expect("an answer"), CompleteAnswer::Held);
}

#[tokio::test]
async fn every_operation_whose_answer_was_lost_can_be_repeated() {
    let Some(server) = redis() else { return };
    let proxy = Proxy::start(server.port()).expect("the proxy starts");
    let (store, key, token) = (store(&proxy.url(&server.url())).await, key(), Token::random());
    let lose = |command: &str| proxy.lose_answers_to(1, command);

    lose("SET");
    unavailable(claim(&store, &key, token).await);
    assert!(text(&server, &key).is_some(), "the claim was applied");
    assert_eq!(at_last(async || claim(&store, &key, token).await).await, FIRST);
    lose("EVALSHA");
    unavailable(renew(&store, &key, token).await);
    assert_eq!(at_last(async || renew(&store, &key, token).await).await, Answer::Held);
    lose("EVALSHA");
    unavailable(complete(&store, &key, token).await);
    let completed = text(&server, &key);
    assert!(completed.as_ref().is_some_and(|record| record.starts_with("1c ")), "the completion was applied");
    assert_eq!(at_last(async || complete(&store, &key, token).await).await, CompleteAnswer::Held);
    assert_eq!(text(&server, &key), completed);
    assert_eq!(proxy.answers_lost(), 3);
}

#[tokio::test]
async fn a_release_whose_answer_was_lost_can_be_repeated() {
    let Some(server) = redis() else { return };
    let proxy = Proxy::start(server.port()).expect("the proxy starts");
    let (store, key, token) = (store(&proxy.url(&server.url())).await, key(), Token::random());
    let release = async || within_bound(store.release(&key, token, Release::Failed("declined"), LEASE)).await;
    assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
    proxy.lose_answers_to(1, "EVALSHA");
    unavailable(release().await);
    assert_eq!(at_last(release).await, Answer::Held);
    assert_eq!(claim(&store, &key, token).await.expect("an answer"), ClaimAnswer::Lost);
}

#[tokio::test]
async fn scripts_that_the_server_has_forgotten_are_loaded_again() {
    let Some(server) = redis() else { return };
    let store = store(&server.url()).await;
    let flush = || server.cli(&["SCRIPT", "FLUSH"]).expect("the scripts are gone");
    let (key, token) = (key(), Token::random());
    assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
    flush();
    assert_eq!(claim(&store, &key, token).await.expect("by the script"), FIRST);
    flush();
    assert_eq!(within_bound(store.begin(&key, token)).await.expect("an answer"), Answer::Held);
    flush();
    assert_eq!(renew(&store, &key, token).await.expect("an answer"), Answer::Held);
    flush();
    assert_eq!(complete(&store, &key, token).await.expect("an answer"), CompleteAnswer::Held);
    flush();
    let release = store.release(&key, token, Release::GivenUp, LEASE);
    assert_eq!(within_bound(release).await.expect("an answer"), Answer::Lost);
    flush();
    assert_eq!(within_bound(store.put_back(&key, token, LEASE, None)).await.expect("an answer"), Answer::Lost);
}

#[tokio::test]
async fn a_server_that_comes_back_empty_has_no_claim_to_complete() {
    let Some(server) = redis() else { return };
    let (store, key, token) = (store(&server.url()).await, key(), Token::random());
    assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
    server.restart_empty().expect("the server starts again");
    assert_eq!(at_last(async || complete(&store, &key, token).await).await, CompleteAnswer::Absent);
    assert_eq!(text(&server, &key), None, "nothing is written by itself");
    assert_eq!(claim(&store, &key, token).await.expect("an answer"), FIRST);
    assert_eq!(complete(&store, &key, token).await.expect("an answer"), CompleteAnswer::Held);
}
