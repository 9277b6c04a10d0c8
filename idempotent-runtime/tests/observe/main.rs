//! What people see of a call: one span with its fields, log lines at their levels, metrics.

#[cfg(feature = "testing")]
mod front;
mod kept;
#[cfg(feature = "metrics")]
mod metered;

use std::time::Duration;

use idempotent_runtime::{CallBuilder, Error, Idempotency};
use tracing::Level;

use crate::kept::Kept;

fn call(idempotency: &Idempotency) -> CallBuilder {
    idempotency.call("order:consume").key(1001).ttl(Duration::from_mins(1)).lease(Duration::from_secs(3))
}

async fn value() -> Result<u32, Error> {
    Ok(1)
}

#[tokio::test(start_paused = true)]
async fn one_span_a_call_says_who_did_what_to_which_key() {
    let (kept, _guard) = Kept::start();
    let idempotency = Idempotency::builder().owner("consumer-3").build(idempotent_runtime::MemoryStore::new()).unwrap();
    call(&idempotency).run(value()).await.unwrap();
    call(&idempotency).run(value()).await.unwrap();
    let spans = kept.spans.lock().unwrap().clone();
    assert_eq!(spans.len(), 2);
    let expected = [
        ("attempt", "1"),
        ("key", "order:consume:1001"),
        ("outcome", "executed"),
        ("owner", "consumer-3"),
        ("prefix", "order:consume"),
    ];
    assert_eq!(spans[0].1, expected.map(|(name, value)| (name, value.to_owned())).into());
    assert_eq!(kept.outcomes(), ["executed", "replayed"]);
}

#[tokio::test(start_paused = true)]
async fn duplicates_are_quiet_and_takeovers_are_warnings() {
    let (kept, _guard) = Kept::start();
    let idempotency = Idempotency::memory();
    call(&idempotency).run(value()).await.unwrap();
    call(&idempotency).run(value()).await.unwrap();
    assert_eq!(kept.levels("ended without a first execution"), [Level::DEBUG]);
    assert!(kept.levels("took over").is_empty());

    // A worker of another handle dies: nobody renews its claim.
    let store = idempotency.store();
    let key = idempotency.key("order:consume", &[&1002]).unwrap();
    let request = idempotent_runtime::store::ClaimRequest {
        token: idempotent_runtime::Token::random(),
        owner: "dead",
        fingerprint: None,
        lease: Duration::from_secs(3),
        retention: idempotent_runtime::store::Retention::For(Duration::from_mins(1)),
        held: idempotent_runtime::store::Retention::For(Duration::from_mins(1)),
        on_lapse: idempotent_runtime::store::OnLapse::TakeOver,
        max_attempts: None,
        supersede: None,
        begun: true,
        fenced: false,
    };
    store.claim(&key, &request).await.unwrap();
    tokio::time::advance(Duration::from_secs(4)).await;
    let taken = idempotency.call("order:consume").key(1002).ttl(Duration::from_mins(1)).run(value()).await;
    assert_eq!(taken.unwrap(), 1);
    assert_eq!(kept.levels("took over"), [Level::WARN]);
}
