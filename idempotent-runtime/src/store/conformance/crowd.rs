//! Many callers at once: one gets the claim.

use std::sync::{Arc, Barrier};

use super::trial::{Call, Trial, call, value};
use crate::record::Completed;
use crate::store::{Acquired, ClaimAnswer, CompleteAnswer, Found, Retention, Store};

/// Sends all claims at the same moment, each from a thread of its own.
async fn claim_at_once(t: &Trial<'_>, calls: &[Call]) -> Vec<ClaimAnswer> {
    let barrier = Arc::new(Barrier::new(calls.len()));
    let threads: Vec<_> = calls
        .iter()
        .map(|&call| {
            on_a_thread(t, &barrier, move |store, key| {
                Box::pin(async move { store.claim(key, &call.0).await.expect("the store answers") })
            })
        })
        .collect();
    let mut answers = Vec::new();
    for thread in threads {
        answers.push(thread.await.expect("a claim does not panic"));
    }
    answers
}

type Work<T> = dyn for<'a> FnOnce(&'a dyn Store, &'a crate::Key) -> super::When<'a, T> + Send;

fn on_a_thread<T: Send + 'static>(
    t: &Trial<'_>,
    barrier: &Arc<Barrier>,
    work: impl for<'a> FnOnce(&'a dyn Store, &'a crate::Key) -> super::When<'a, T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    let (store, key, barrier) = (Arc::clone(&t.store), t.key.clone(), Arc::clone(barrier));
    let work: Box<Work<T>> = Box::new(work);
    tokio::task::spawn_blocking(move || {
        barrier.wait();
        tokio::runtime::Handle::current().block_on(work(&*store, &key))
    })
}

/// Exactly one of the answers is `Acquired`; all others say that a claim of this attempt is in progress.
fn one_of(answers: &[ClaimAnswer], attempt: u32, found: Found) -> usize {
    let is_winner = |answer: &ClaimAnswer| matches!(answer, ClaimAnswer::Acquired(Acquired { attempt: a, found: f, .. }) if *a == attempt && *f == found);
    let winners: Vec<_> = (0..answers.len()).filter(|&at| is_winner(&answers[at])).collect();
    assert_eq!(winners.len(), 1, "one of them is acquired: {answers:?}");
    for (at, answer) in answers.iter().enumerate() {
        let busy = matches!(answer, ClaimAnswer::InProgress { attempt: a, .. } if *a == attempt);
        assert!(busy || at == winners[0], "the others are busy: {answer:?}");
    }
    winners[0]
}

fn crowd(size: usize) -> Vec<Call> {
    (0..size).map(|_| call("one-of-many")).collect()
}

pub(super) async fn one_of_ten_gets_an_absent_key(t: &Trial<'_>) {
    one_of(&claim_at_once(t, &crowd(10)).await, 1, Found::Absent);
}

pub(super) async fn one_of_two_hundred_gets_an_absent_key(t: &Trial<'_>) {
    one_of(&claim_at_once(t, &crowd(200)).await, 1, Found::Absent);
}

pub(super) async fn one_of_ten_takes_a_lapsed_claim_over(t: &Trial<'_>) {
    t.lapsed().await;
    one_of(&claim_at_once(t, &crowd(10)).await, 2, Found::Lapsed { begun: true });
}

pub(super) async fn one_of_two_hundred_takes_a_lapsed_claim_over(t: &Trial<'_>) {
    t.lapsed().await;
    one_of(&claim_at_once(t, &crowd(200)).await, 2, Found::Lapsed { begun: true });
}

pub(super) async fn one_of_ten_gets_a_failed_key(t: &Trial<'_>) {
    t.failed().await;
    one_of(&claim_at_once(t, &crowd(10)).await, 2, Found::Failed);
}

pub(super) async fn one_of_two_hundred_gets_a_failed_key(t: &Trial<'_>) {
    t.failed().await;
    one_of(&claim_at_once(t, &crowd(200)).await, 2, Found::Failed);
}

pub(super) async fn one_of_ten_supersedes_a_record(t: &Trial<'_>) {
    let (_, record) = t.completed().await;
    let calls: Vec<_> = crowd(10).into_iter().map(|call| call.supersede(&record)).collect();
    one_of(&claim_at_once(t, &calls).await, 2, Found::Completed);
}

pub(super) async fn the_last_attempt_is_given_once(t: &Trial<'_>) {
    t.failed().await;
    let calls: Vec<_> = crowd(10).into_iter().map(|call| call.max(2)).collect();
    let winner = one_of(&claim_at_once(t, &calls).await, 2, Found::Failed);
    t.release(calls[winner], "burnt").await.held();
    for answer in claim_at_once(t, &calls).await {
        assert!(matches!(answer, ClaimAnswer::Exhausted { attempt: 2 } | ClaimAnswer::Lost), "{answer:?}");
    }
}

pub(super) async fn all_claims_of_one_call_are_that_calls(t: &Trial<'_>) {
    // A client that repeats what was not answered in time has several of them on the way.
    let call = call("A");
    for answer in claim_at_once(t, &vec![call; 10]).await {
        assert!(
            matches!(answer, ClaimAnswer::Acquired(Acquired { attempt: 1, found: Found::Absent, .. })),
            "{answer:?}"
        );
    }
}

pub(super) async fn a_takeover_and_a_late_completion_agree(t: &Trial<'_>) {
    for round in 0..10 {
        let t = t.under(t.key_like(&round.to_string()));
        let (a, b) = (t.lapsed().await, call("B"));
        let barrier = Arc::new(Barrier::new(2));
        let completing = on_a_thread(&t, &barrier, move |store, key| {
            Box::pin(async move {
                let kept = Retention::For(super::trial::LONG);
                store.complete(key, a.0.token, &value(b"1"), kept).await.expect("the store answers")
            })
        });
        let claiming = on_a_thread(&t, &barrier, move |store, key| {
            Box::pin(async move { store.claim(key, &b.0).await.expect("the store answers") })
        });
        let completed = completing.await.expect("a completion does not panic");
        let claimed = claiming.await.expect("a claim does not panic");
        match claimed {
            ClaimAnswer::Completed(record) => {
                assert_eq!(record, a.completed(1, value(b"1")));
                assert_eq!(completed, CompleteAnswer::Held);
            }
            ClaimAnswer::Acquired(Acquired { attempt: 2, .. }) => {
                assert_eq!(completed, CompleteAnswer::Lost(None::<Completed>));
                t.complete(b).await.held();
            }
            other => panic!("neither completed nor taken over: {other:?}"),
        }
    }
}

pub(super) async fn fences_grow_with_every_claim(t: &Trial<'_>) {
    let mut last = None;
    let mut grows = |acquired: Acquired| {
        assert!(acquired.fence.is_some(), "a fence was asked for");
        assert!(acquired.fence > last, "{:?} after {last:?}", acquired.fence);
        last = acquired.fence;
    };
    let lapsing = t.brief("A").fenced();
    grows(t.claim(lapsing).await.acquired(1, Found::Absent));
    t.lapse(lapsing).await;
    let failing = call("B").fenced();
    grows(t.claim(failing).await.acquired(2, Found::Lapsed { begun: true }));
    t.release(failing, "burnt").await.held();
    let completing = call("C").fenced();
    grows(t.claim(completing).await.acquired(3, Found::Failed));
    t.complete(completing).await.held();
    let superseding = call("D").fenced().supersede(&completing.completed(3, value(b"1")));
    grows(t.claim(superseding).await.acquired(4, Found::Completed));
    t.put_back(superseding).await.held();
    let expiring = call("E").fenced();
    grows(t.claim(expiring).await.acquired(4, Found::Failed));
    t.complete_with(expiring, &value(b"1"), t.brief_retention()).await.held();
    t.ticks(2.5).await;
    // Also when nothing is left of the record.
    grows(t.claim(call("F").fenced()).await.acquired(1, Found::Absent));
}

pub(super) async fn the_fence_of_a_repeated_claim_is_the_same(t: &Trial<'_>) {
    let a = call("A").fenced();
    let first = t.claim(a).await.acquired(1, Found::Absent);
    assert_eq!(t.claim(a).await.acquired(1, Found::Absent), first);
}
